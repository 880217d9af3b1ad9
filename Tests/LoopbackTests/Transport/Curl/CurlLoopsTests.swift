#if os(Linux)
@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Glibc
import Testing

@Suite("Several loops of one transport", .timeLimit(.minutes(10))) struct CurlLoopsTests {
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
        server.onAny { request in request.path == "/hangs" ? .silence : .json("7") }
    }

    private func transport(loops: Int, idleTime: Duration = .seconds(120)) -> CurlTransport {
        var options = CurlTransport.Options()
        options.loops = loops
        return CurlTransport(options, idleTime: idleTime)
    }

    private func client(
        _ transport: CurlTransport, observe: (@Sendable (ClientEvent) -> Void)? = nil
    ) -> APIClient {
        APIClient(server.baseURL) {
            $0.transport = transport
            $0.rateLimit = .unlimited
            $0.retry = .never
            $0.observe = observe
        }
    }

    /// Makes so many calls that hang, and returns them when the server has all of them.
    private func hanging(_ count: Int, _ client: APIClient) async -> [Task<Int, any Error>] {
        // Before the first of them may have arrived.
        let all = server.received.count + count
        let tasks = (0..<count).map { _ in Task { try await client.run(Endpoint<Int>.get("hangs")) } }
        await server.received(atLeast: all)
        return tasks
    }

    /// Waits until it is so. Nothing tells when a thread ends, or a request begins to wait.
    private func wait(until isSo: () -> Bool) async throws {
        while !isSo() { try await Task.sleep(for: .milliseconds(1)) }
    }

    /// Returns that many connections, or as many as there are calls if each has its own.
    private func connections(_ number: Int, of calls: Int) -> Int {
        InstalledLibrary.announcesRequests ? number : calls
    }

    private func expectCanceled(_ tasks: [Task<Int, any Error>]) async {
        for task in tasks { task.cancel() }
        for task in tasks { await #expect(throws: ServiceError.cancelled) { try await task.value } }
    }

    @Test("L1: calls in turn have one loop", arguments: [1, 2, 4])
    func inTurn(loops: Int) async throws {
        let transport = transport(loops: loops)
        let client = client(transport)
        for _ in 0..<100 { #expect(try await client.run(Endpoint<Int>.get("x")) == 7) }
        #expect(transport.activeByLoop == [0])
        #expect(server.connections == connections(1, of: 100))
        await transport.shutdown()
    }

    @Test("L1, L6: many at once are parted; canceling, and the end of a client's calls, reach all loops")
    func parted() async throws {
        let transport = transport(loops: 3)
        let client = client(transport)
        let tasks = await hanging(CurlChoice.enough * 3 + 5, client)
        #expect(transport.activeByLoop.count == 3 && transport.activeByLoop.allSatisfy { $0 >= CurlChoice.enough })
        await expectCanceled(tasks)
        #expect(transport.isIdle && transport.activeByLoop == [0, 0, 0])
        await transport.shutdown()
    }

    @Test("L1, L4: hundreds of tasks make thousands of calls, on hardly more connections than with one loop")
    func storm() async throws {
        let transport = transport(loops: 2)
        try await storm(on: transport, executor: { _ in nil })
        #expect(server.connections <= connections(CurlTransport.Options().connectionsPerOrigin + 2, of: 4000))
        await transport.shutdown()
    }

    @Test("L1, L8: hundreds of tasks make thousands of calls, on the loops and elsewhere", arguments: [1, 2, 4])
    func stormOnExecutor(loops: Int) async throws {
        let transport = transport(loops: loops)
        try await storm(on: transport, executor: { $0 % 2 == 0 ? nil : transport.executor })
        // A thread that a busy machine leaves alone with a task counts as held up: then another opens connections.
        #expect(server.connections <= connections(CurlTransport.Options().connectionsPerOrigin * loops, of: 4000))
        await transport.shutdown()
    }

    private func storm(on transport: CurlTransport, executor: (Int) -> (any TaskExecutor)?) async throws {
        let client = client(transport)
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<200 {
                group.addTask(executorPreference: executor(number)) {
                    var sum = 0
                    for _ in 0..<20 { sum += try await client.run(Endpoint<Int>.get("x")) }
                    return sum
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(sum == 7 * 20 * 200)
        #expect(server.received.count == 20 * 200)
        #expect(transport.activeByLoop.reduce(0, +) == 0)
    }

    @Test("L1: a listener is told how many loops there are, once for each change")
    func told() async throws {
        let threads = Noted<[[Int]]>([])
        let transport = transport(loops: 2, idleTime: .milliseconds(20))
        let client = client(transport)
        let listening = self.client(transport) { event in
            if case .threads(let active) = event.kind { threads.update { $0.append(active) } }
        }
        _ = try await listening.run(Endpoint<Int>.get("x"))
        #expect(threads.value.isEmpty)
        let tasks = await hanging(CurlChoice.enough + 1, client)
        for _ in 0..<3 { _ = try await listening.run(Endpoint<Int>.get("x")) }
        #expect(threads.value == [[CurlChoice.enough, 1]])
        await expectCanceled(tasks)
        try await wait { transport.activeByLoop.count == 1 }
        _ = try await listening.run(Endpoint<Int>.get("x"))
        #expect(threads.value == [[CurlChoice.enough, 1], [0]])
        await transport.shutdown()
    }

    @Test("L3: the limit on connections holds over all loops, and all who wait have their turn")
    func limits() async throws {
        var options = CurlTransport.Options()
        options.loops = 4
        options.connectionsPerOrigin = 40
        let transport = CurlTransport(options)
        let client = client(transport)
        let hanging = await hanging(40, client)
        let waiting = (0..<60).map { _ in Task { try await client.run(Endpoint<Int>.get("x")) } }
        try await wait { transport.waiting == 60 }
        #expect(server.received.count == 40 && transport.activeByLoop.reduce(0, +) == 40)
        await expectCanceled(hanging)
        for task in waiting { #expect(try await task.value == 7) }
        await transport.shutdown()
    }

    @Test("L8: a task resumes on the loop on which its call ended, and its next call goes to that loop")
    func onItsLoop() async throws {
        let transport = transport(loops: 2)
        let client = client(transport)
        let hanging = await hanging(CurlChoice.enough + 1, client)
        let numbers = try await Task(executorPreference: client.executor) {
            var numbers: [Int?] = []
            for _ in 0..<50 {
                _ = try await client.run(Endpoint<Int>.get("x"))
                numbers.append(CurlLoop.current?.number)
                // The thread has not come back for long, but the task that asks is on it.
                if numbers.count == 25 { Self.work() }
            }
            return numbers
        }.value
        // A call on another loop may end before its task waits for it, so the task may take some calls to get there.
        let later = numbers.dropFirst(24)
        #expect(Set(later).count == 1 && later.first != .some(nil), "\(numbers)")
        await expectCanceled(hanging)
        await transport.shutdown()
    }

    /// Keeps the thread for longer than others wait for it.
    private static func work() {
        let end = ContinuousClock.now.advanced(by: .milliseconds(15))
        while ContinuousClock.now < end {}
    }

    @Test("L8: many tasks that prefer the executor resume on the loops")
    func onLoops() async throws {
        let transport = transport(loops: 2)
        let client = client(transport)
        let hanging = await hanging(CurlChoice.enough + 1, client)
        let numbers = try await withThrowingTaskGroup(of: [Int?].self) { group in
            for _ in 0..<8 {
                group.addTask(executorPreference: client.executor) {
                    var numbers: [Int?] = []
                    for _ in 0..<20 {
                        _ = try await client.run(Endpoint<Int>.get("x"))
                        numbers.append(CurlLoop.current?.number)
                    }
                    return numbers
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(numbers.count == 160 && numbers.allSatisfy { $0 == 0 || $0 == 1 })
        await expectCanceled(hanging)
        await transport.shutdown()
    }

    @Test("L1: a loop ends when it has been idle, and another call opens it again")
    func idle() async throws {
        let transport = transport(loops: 2, idleTime: .milliseconds(20))
        let client = client(transport)
        for _ in 0..<3 {
            let tasks = await hanging(CurlChoice.enough + 1, client)
            #expect(transport.activeByLoop.count == 2)
            await expectCanceled(tasks)
            try await wait { transport.activeByLoop.count == 1 }
            #expect(try await client.run(Endpoint<Int>.get("x")) == 7)
        }
        await transport.shutdown()
    }

    @Test("L6: after shutting down, nothing is under way on any loop")
    func shutdown() async throws {
        let transport = transport(loops: 4)
        let client = client(transport)
        let tasks = await hanging(CurlChoice.enough * 4, client)
        #expect(transport.activeByLoop.count == 4)
        await transport.shutdown()
        for task in tasks {
            await #expect(throws: ServiceError.self) { try await task.value }
        }
        #expect(transport.isIdle)
        await server.connectionsClosed()
        await #expect(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("x")) }
    }

    @Test("L7: what holds up one loop delays no call that begins later")
    func heldUp() async throws {
        let transport = transport(loops: 2)
        let client = client(transport)
        #expect(try await client.run(Endpoint<Int>.get("x")) == 7)
        let (isHolding, mayGo) = (Noted(false), Noted(false))
        let holding = Task(executorPreference: client.executor) { Self.hold(isHolding, until: mayGo) }
        try await wait { isHolding.value }
        // The thread counts as held up after ten milliseconds, and holds on until these calls have ended.
        try await Task.sleep(for: .milliseconds(20))
        for _ in 0..<10 { #expect(try await client.run(Endpoint<Int>.get("x")) == 7) }
        #expect(transport.activeByLoop.count == 2)
        mayGo.update { $0 = true }
        await holding.value
        await transport.shutdown()
    }

    /// Holds up the thread until it may go.
    private static func hold(_ isHolding: Noted<Bool>, until mayGo: Noted<Bool>) {
        isHolding.update { $0 = true }
        while !mayGo.value { usleep(1000) }
    }
}
#endif
