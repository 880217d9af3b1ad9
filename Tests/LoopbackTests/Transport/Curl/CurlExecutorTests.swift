#if os(Linux)
@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Glibc
import Testing

/// The name of the thread that runs this.
private func threadName() -> String {
    let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
    return String(name?.dropLast() ?? "")
}

private let loopThread = "errand.curl"

@Suite("Tasks on the thread of their connections", .timeLimit(.minutes(10))) struct CurlExecutorTests {
    private let server: LoopbackServer
    private let transport = CurlTransport()

    init() throws {
        server = try LoopbackServer()
        server.onAny { request in request.path == "/big" ? .json(Self.big) : .json("7") }
    }

    private static let big = "[\(String(repeating: "1,", count: 40_000))1]"

    /// A transport with one thread.
    private static var single: CurlTransport {
        var options = CurlTransport.Options()
        options.loops = 1
        return CurlTransport(options)
    }

    private func client(_ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        APIClient(server.baseURL) {
            $0.transport = transport
            $0.rateLimit = .unlimited
            $0.retry = .never
            configure(&$0)
        }
    }

    @Test("L8: a task that prefers it runs there before and after its call, and so do the children of its groups")
    func preferred() async throws {
        let client = client()
        let names = try await withTaskExecutorPreference(client.executor) {
            let first = await Self.concurrentName()
            _ = try await client.run(Endpoint<Int>.get("x"))
            let second = await Self.concurrentName()
            let third = await withTaskGroup(of: String.self) { group in
                group.addTask { threadName() }
                return await group.next() ?? ""
            }
            return [first, second, third]
        }
        #expect(names == [loopThread, loopThread, loopThread])
        await transport.shutdown()
    }

    @concurrent private static func concurrentName() async -> String { threadName() }

    @MainActor private static func onMainActor() -> Bool { threadName() != loopThread }

    @Test("L8: what is isolated runs where it belongs, and an unstructured task does not inherit the preference")
    func elsewhere() async throws {
        let client = client()
        let (isMain, unstructured) = await withTaskExecutorPreference(client.executor) {
            let unstructured = Task { threadName() }
            return (await Self.onMainActor(), await unstructured.value)
        }
        #expect(isMain && unstructured != loopThread)
        await transport.shutdown()
    }

    @Test("L8: sockets are served beside tasks that always have something to do")
    func fair() async throws {
        let client = client()
        let isDone = Noted(false)
        let spinning = Task(executorPreference: client.executor) {
            while !isDone.value { await Task.yield() }
        }
        for _ in 0..<50 { #expect(try await client.run(Endpoint<Int>.get("x")) == 7) }
        isDone.update { $0 = true }
        await spinning.value
        await transport.shutdown()
    }

    @Test("L8: no job is lost: before the thread has begun, while the transport shuts down, and afterwards")
    func shutdown() async throws {
        for _ in 0..<20 {
            let transport = CurlTransport()
            let counted = Noted(0)
            await withTaskGroup { group in
                for number in 0..<40 {
                    group.addTask(executorPreference: transport.executor) {
                        for _ in 0..<20 {
                            await Task.yield()
                            counted.update { $0 += 1 }
                        }
                        if number == 20 { await transport.shutdown() }
                        for _ in 0..<20 {
                            await Task.yield()
                            counted.update { $0 += 1 }
                        }
                    }
                }
            }
            #expect(counted.value == 40 * 40)
            let late = await Task(executorPreference: transport.executor) { threadName() }.value
            #expect(late != loopThread)
        }
    }

    @Test("L8: a task outlives the transport that it prefers")
    func released() async throws {
        let (begun, continuation) = AsyncStream<Void>.makeStream()
        var transport: CurlTransport? = CurlTransport()
        let task = Task(executorPreference: transport?.executor) {
            for await _ in begun { break }
            // If the transport has gone before the task waits, that was still on its thread.
            await Task.yield()
            return threadName()
        }
        transport = nil
        continuation.yield()
        #expect(await task.value != loopThread)
    }

    @Test("L8: a small response is decoded there, and a large one elsewhere")
    func decoding() async throws {
        struct Small: Decodable, Sendable {
            let thread: String
            init(from decoder: any Decoder) throws {
                _ = try decoder.singleValueContainer().decode(Int.self)
                thread = threadName()
            }
        }
        struct Large: Decodable, Sendable {
            let thread: String
            init(from decoder: any Decoder) throws {
                _ = try decoder.singleValueContainer().decode([Int].self)
                thread = threadName()
            }
        }
        let client = client()
        let names = try await withTaskExecutorPreference(client.executor) {
            let small = try await client.run(Endpoint<Small>.get("x")).thread
            let large = try await client.run(Endpoint<Large>.get("big")).thread
            return (small, large, await Self.concurrentName())
        }
        #expect(names.0 == loopThread && names.1 != loopThread && names.2 == loopThread)
        await transport.shutdown()
    }

    @Test("L8: a job that holds up the thread is reported by the next call, once a minute")
    func heldUp() async throws {
        let warnings = Noted<[String]>([])
        let transport = Self.single
        let client = client {
            $0.transport = transport
            $0.observe = { event in
                if case .warned(let text) = event.kind { warnings.update { $0.append(text) } }
            }
        }
        try await withTaskExecutorPreference(client.executor) {
            for _ in 0..<3 {
                await Self.hold()
                _ = try await client.run(Endpoint<Int>.get("x"))
            }
        }
        // The first listener of the process also learns of the faults that an older libcurl has.
        let held = warnings.value.filter { $0 != transport.warning }
        #expect(held.count == 1)
        #expect(held.first?.contains("held up its connections for") == true)
        await transport.shutdown()
    }

    @Test("L8: a job that holds up the thread is reported to a client that listens, not lost on one that does not")
    func heldUpUnheard() async throws {
        let warnings = Noted<[String]>([])
        let transport = Self.single
        let quiet = client { $0.transport = transport }
        let listening = client {
            $0.transport = transport
            $0.observe = { event in
                if case .warned(let text) = event.kind { warnings.update { $0.append(text) } }
            }
        }
        try await withTaskExecutorPreference(quiet.executor) {
            await Self.hold()
            _ = try await quiet.run(Endpoint<Int>.get("x"))
            _ = try await listening.run(Endpoint<Int>.get("x"))
        }
        #expect(warnings.value.count == 1)
        await transport.shutdown()
    }

    /// Really holds up the thread: the system's clock measures the time of its jobs.
    @concurrent private static func hold() async { usleep(120_000) }

    @Test("L8: holds are reported once a minute, with the longest")
    func holds() {
        var holds = CurlHolds()
        #expect(holds.takeWarning(at: .zero) == nil)
        holds.note(.milliseconds(150))
        holds.note(.milliseconds(120))
        #expect(holds.takeWarning(at: .zero)?.contains("150 ms") == true)
        holds.note(.milliseconds(110))
        #expect(holds.takeWarning(at: .ms(59_999)) == nil)
        #expect(holds.takeWarning(at: .ms(60_000))?.contains("110 ms") == true)
        #expect(holds.takeWarning(at: .ms(200_000)) == nil)
    }

    @Test("L8: code of the program has the signals of the thread that began, and a process that it starts can be ended")
    func signals() async throws {
        let client = client()
        func isBlocked(_ signal: CInt) -> Bool {
            var set = sigset_t()
            pthread_sigmask(SIG_SETMASK, nil, &set)
            return sigismember(&set, signal) == 1
        }
        let usual = await Task.detached { isBlocked(SIGTERM) }.value
        let there = await withTaskExecutorPreference(client.executor) {
            await withTaskGroup(of: Bool.self) { group in
                group.addTask { isBlocked(SIGTERM) }
                return await group.next() ?? true
            }
        }
        #expect(there == usual)
        await transport.shutdown()
    }

    @Test("a transport that has no thread of its own has no executor, and a preference for none changes nothing")
    func none() async throws {
        let network = ScriptedTransport()
        network.on(.get, "/x", .json("7"))
        let client = testClient(network)
        #expect(client.executor == nil)
        let value = try await withTaskExecutorPreference(client.executor) {
            try await client.run(Endpoint<Int>.get("x"))
        }
        #expect(value == 7)
    }
}
#endif
