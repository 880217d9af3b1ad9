@testable import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

/// Event streams over real connections, which the server breaks off at random bytes.
@Suite("Broken event streams", .timeLimit(.minutes(10))) struct BrokenEventsTests {
    private let server: LoopbackServer
    private let client: APIClient

    init() throws {
        server = try LoopbackServer()
        client = APIClient(server.baseURL) {
            $0.rateLimit = .unlimited
            $0.time = ShortSleeps()
        }
    }

    /// The system's time, in which tasks sleep for a thousandth of what they ask for: a thousand connections would take
    /// minutes with the pauses between them.
    private struct ShortSleeps: TimeSource {
        var now: Instant { SystemTime.shared.now }
        var date: Date { SystemTime.shared.date }
        var executor: (any TaskExecutor)? { nil }

        func random() -> UInt64 { SystemTime.shared.random() }

        func schedule(
            at instant: Instant, for purpose: Alarm.Purpose, _ action: @escaping @Sendable () -> Void
        ) -> Alarm {
            let wait = now.duration(to: instant) / (purpose.isSleeper ? 1000 : 1)
            return SystemTime.shared.schedule(at: now.advanced(by: wait), for: purpose, action)
        }
    }

    /// The text of the event with that number. Some take several lines, and more bytes than a character has.
    private static func text(_ number: Int) -> String {
        "id: \(number)\n\(lines(number).map { "data: \($0)" }.joined(separator: "\r\n"))\n\n"
    }

    private static func data(_ number: Int) -> String {
        lines(number).joined(separator: "\n")
    }

    private static func lines(_ number: Int) -> [String] {
        (0...number % 3).map { "\(number)/\($0) \(String(repeating: "é", count: number % 40))" }
    }

    @Test("E2: a stream that breaks off again and again loses no event, doubles none and invents none")
    func againAndAgain() async throws {
        let clock = TestClock(seed: 11)
        let breaks = LongRun.isWanted ? 1000 : 100
        server.on(.get, "/feed") { request in
            let last = request.headers["Last-Event-ID"].flatMap { Int($0) } ?? 0
            // The first event is always whole: after a connection that brings none, the client waits longer.
            let first = "retry: 0\n" + Self.text(last + 1)
            let rest = ((last + 2)..<(last + 6)).map(Self.text).joined()
            let body = Data((first + rest).utf8)
            let end = first.utf8.count + Int(clock.random() % UInt64(body.count - first.utf8.count + 1))
            let size = String(body.count, radix: 16)
            // Within a chunk, so that libcurl sees a body that breaks off; or after one, where it sees an end.
            return LoopbackReply([
                .write(
                    LoopbackReply.head(200, ["Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"])
                        + Data("\(size)\r\n".utf8) + body.prefix(end)
                        + Data((end == body.count ? "\r\n0\r\n\r\n" : "").utf8)),
                .close,
            ])
        }
        var number = 0
        for try await event in client.events(.get("feed")) {
            number += 1
            guard event.id == "\(number)", event.data == Self.data(number) else {
                Issue.record("after \(number - 1) came \(event)")
                break
            }
            if server.received.count > breaks { break }
        }
        #expect(server.received.count > breaks)
        // Each connection has brought at least one event.
        #expect(number >= breaks)
        await server.connectionsClosed()
    }

    @Test("E4: an endless event is an error of the size that was allowed, and its connection ends")
    func endless() async throws {
        server.on(.get, "/feed") { _ in
            LoopbackReply([
                .write(LoopbackReply.head(200, ["Content-Type": "text/event-stream"]) + Data("data: ".utf8)),
                .repeatForever(Data(repeating: UInt8(ascii: "x"), count: 1 << 16)),
            ])
        }
        let error = await #expect(throws: ServiceError.self) {
            for try await _ in client.events(.get("feed")).maximumLength(100_000) {}
        }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .tooLarge)
        #expect(server.received.count == 1)
        await server.connectionsClosed()
    }

    @Test("E4: a feed that is not read is not received")
    func backPressure() async throws {
        server.on(.get, "/feed") { _ in
            LoopbackReply([
                .write(LoopbackReply.head(200, ["Content-Type": "text/event-stream"])),
                .repeatForever(Data("data: \(String(repeating: "x", count: 1000))\n\n".utf8)),
            ])
        }
        server.on(.get, "/other") { _ in .json("1") }
        var events = client.events(.get("feed")).makeAsyncIterator()
        let first = try await events.next()
        #expect(first?.data.count == 1000)
        // The other calls show that the transport has run.
        var sent = -1 << 20
        while server.bytesSent - sent >= 1 << 20 {
            sent = server.bytesSent
            for _ in 0..<20 { _ = try await client.run(Endpoint<Int>.get("other")) }
        }
        #expect(sent < 32 << 20)
        let second = try await events.next()
        #expect(second?.data.count == 1000)
    }
}
