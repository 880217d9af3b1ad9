import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A scripted transport") struct ScriptedTransportTests {
    private let network = ScriptedTransport()
    private let base = "https://api.test"

    @Test("a wait for requests ends when its task is cancelled, before it begins or after")
    func cancelledWait() async {
        let network = ScriptedTransport()
        let tasks = (0..<20).map { _ in Task { await network.sent(atLeast: 1) } }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    @Test("replies are used in order and as often as scripted; the last may repeat for ever")
    func sequence() async throws {
        network.on(.get, "/a") {
            .status(503)
            ScriptedReply.json("1").times(2)
            ScriptedReply.status(404, body: "no").always
        }
        var answers: [String] = []
        for _ in 0..<6 {
            let answer = try await network.answer(.get, "\(base)/a")
            answers.append("\(answer.status) \(answer.text)")
        }
        #expect(answers == ["503 ", "200 1", "200 1", "404 no", "404 no", "404 no"])
        try network.verify()
    }

    @Test("scripts can use conditions and loops; an unused reply is never given")
    func builder() async throws {
        let isLate = true
        network.on(.get, "/a") {
            ScriptedReply.status(500).times(0)
            if isLate { ScriptedReply.status(201) }
            if !isLate { ScriptedReply.status(500) } else { ScriptedReply.status(202) }
            for status in 203...204 { ScriptedReply.status(status) }
        }
        network.on(.get, "/never", times: 0, answering: { _ in .status(200) })
        var statuses: [Int] = []
        for _ in 0..<4 { statuses.append(try await network.answer(.get, "\(base)/a").status) }
        #expect(statuses == [201, 202, 203, 204])
        try network.verify()
    }

    @Test(
        "a pattern matches a path with or without its query, a whole URL, or everything with a star",
        arguments: [
            ("/a/b", "/a/b", true), ("/a/b", "/a/b?q=1", true), ("/a/b?q=1", "/a/b?q=1", true),
            ("/a/b?q=1", "/a/b?q=2", false), ("/a/b?q=1", "/a/b", false), ("*", "/any?q", true),
            ("https://api.test/a", "/a", true), ("https://other.test/a", "/a", false), ("/a", "/A", false),
            ("https://api.test/a", "/a?q=1", true), ("https://api.test/a?q=1", "/a?q=2", false),
            ("/a", "/a/", false), ("/a/é b", "/a/%C3%A9%20b", true), ("/a/b", "/a%2Fb", false),
            ("/a?p=1&q=x y", "/a?q=x%20y&p=1", true), ("/a?p=1&p=2", "/a?p=2&p=1", true),
            ("/a?p=1", "/a?p=1&p=1", false),
            ("/a?p", "/a?p=", false), ("/a?", "/a", true), ("/a?", "/a?q=1", false),
        ])
    func matching(script: String, target: String, matches: Bool) async throws {
        let network = ScriptedTransport { _ in }
        network.on(.get, script) { .status(204) }
        let answer = try? await network.answer(.get, base + target)
        #expect((answer?.status == 204) == matches)
        // Another method does not match.
        let other = ScriptedTransport { _ in }
        other.on(.post, script) { .status(204) }
        #expect((try? await other.answer(.get, base + target)) == nil)
    }

    @Test("a second script for the same path continues after the first")
    func twoScripts() async throws {
        network.on(.get, "/a") { .status(201) }
        network.on(.get, "/a") { .status(202) }
        network.onAny { .status(203) }
        var statuses: [Int] = []
        for _ in 0..<3 { statuses.append(try await network.answer(.get, "\(base)/a").status) }
        #expect(statuses == [201, 202, 203])
    }

    @Test("delays pass in the client's time, and end with a cancellation")
    func delays() async throws {
        let clock = TestClock()
        network.on(.get, "/a") { ScriptedReply.json("1").after(.seconds(5)).times(2) }
        try await clock.run {
            _ = try await network.answer(.get, "\(base)/a", clock: clock)
            #expect(clock.elapsed == .seconds(5))
            let task = Task(executorPreference: clock.executor) {
                _ = try await network.answer(.get, "\(base)/a", clock: clock)
            }
            try await clock.sleep(for: .seconds(1))
            task.cancel()
            await #expect(throws: ServiceError.cancelled) { try await task.value }
        }
        #expect(clock.elapsed == .seconds(6))
    }

    @Test("it can fail in every way in which a network can", arguments: TransportFailure.Kind.allCases)
    func failures(kind: TransportFailure.Kind) async throws {
        network.on(.get, "/a") {
            ScriptedReply.failure(kind)
            ScriptedReply.failure(kind, mayHaveReachedServer: true)
        }
        for isForced in [false, true] {
            let error = await #expect(throws: ServiceError.self) { _ = try await network.answer(.get, "\(base)/a") }
            guard case .transport(let failure) = error else {
                Issue.record("\(kind)")
                return
            }
            #expect(failure.kind == kind)
            if isForced { #expect(failure.mayHaveReachedServer) }
        }
    }

    @Test("errors of any type, values, streams and handlers are replies too")
    func otherReplies() async throws {
        struct Odd: Error, Equatable {}
        struct User: Codable, Equatable { var name: String }
        let chunks = HTTPBody.Chunks { continuation in
            for part in ["one ", "two"] { continuation.yield(Data(part.utf8)) }
            continuation.finish()
        }
        network.on(.get, "/a") {
            ScriptedReply.error(Odd())
            ScriptedReply.encoding(User(name: "Ann"), status: 201)
            ScriptedReply.response(HTTPResponse(status: 200, body: .stream(chunks)))
        }
        network.on(.put, "/b", times: 1, answering: { .status($0.method == .put ? 299 : 500) })
        await #expect(throws: Odd()) { _ = try await network.answer(.get, "\(base)/a") }
        #expect(try await network.answer(.get, "\(base)/a").text == #"{"name":"Ann"}"#)
        #expect(try await network.answer(.get, "\(base)/a").text == "one two")
        #expect(try await network.answer(.put, "\(base)/b").status == 299)
        try network.verify()
    }

    @Test("it records what was sent, with its body and its instant")
    func log() async throws {
        let clock = TestClock()
        network.onAny { ScriptedReply.json("1").always }
        let client = APIClient("https://api.test/v1") {
            $0.transport = network
            $0.time = clock
        }
        await clock.advance(by: .seconds(3))
        let _: Int = try await client.run(.post("a", query: ["q": "1"], body: .json(["x": 1])))
        let sent = try #require(network.sent.first)
        #expect(sent.request.url.absoluteString == "https://api.test/v1/a?q=1")
        #expect(String(decoding: sent.body, as: UTF8.self) == #"{"x":1}"#)
        #expect(sent.at == clock.now)
    }

    @Test("a test can wait until a number of requests was sent")
    func sentAtLeast() async throws {
        let clock = TestClock()
        network.onAny { ScriptedReply.json("1").after(.seconds(1)).always }
        let tasks = (0..<3).map { _ in Task { try await network.answer(.get, "\(base)/a", clock: clock) } }
        await network.sent(atLeast: 3)
        await network.sent(atLeast: 1)
        #expect(network.sent.count == 3)
        await clock.sleepers(atLeast: 3)
        await clock.advance(by: .seconds(1))
        for task in tasks { #expect(try await task.value.status == 200) }
    }
}
