@testable import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("Event streams", .timeLimit(.minutes(10))) struct EventStreamTests: EventScene {
    let clock = TestClock(seed: 5)
    let network = scripted()

    private func lastIDs() -> [String?] { network.sent.map { $0.request.headers["Last-Event-ID"] } }

    @Test("E2: a stream that ends or breaks goes on after the last event; 204 ends it")
    func resumes() async throws {
        network.on(
            .get, "/feed", connection("id: 1\ndata: a\n\n", "id: 2\ndata: b\n\nid: 3\nda"),
            connection("data: c\n\n", then: .breaks), connection("id: 4\ndata: d\n\n"), .status(204))
        let (data, error) = await data(of: client().events(.get("feed")))
        #expect(data == ["a", "b", "c", "d"] && error == nil)
        #expect(lastIDs() == [nil, "2", "2", "4"])
        #expect(network.sent.allSatisfy { $0.request.headers["Accept"] == "text/event-stream" })
        try network.verify()
    }

    @Test(
        "E2: errors that pass do not end a stream that has begun; others do", arguments: [503, 408, 418, 404, 401])
    func errors(status: Int) async throws {
        // The retry policy names a status more than usual.
        let passes = [503, 408, 418].contains(status)
        network.on(.get, "/feed") {
            connection("data: a\n\n")
            ScriptedReply.status(status).times(passes ? 3 : 1)
            if passes {
                connection("data: b\n\n")
                ScriptedReply.status(204)
            }
        }
        let client = client { $0.retry.statuses.insert(418) }
        let (data, error) = await data(of: client.events(.get("feed")))
        #expect(data == (passes ? ["a", "b"] : ["a"]))
        #expect(error?.status == (passes ? nil : status))
        try network.verify()
    }

    @Test("E2: the first connection fails like any call", arguments: [404, 503])
    func firstFailure(status: Int) async {
        network.onAny { ScriptedReply.status(status).always }
        let (data, error) = await data(of: client().events(.get("feed")))
        #expect(data.isEmpty && error?.status == status)
        #expect(network.sent.count == (status == 503 ? 3 : 1))
    }

    @Test("E2: the deadline holds for all connections together")
    func deadline() async throws {
        network.onAny { connection("data: a\n\n").always }
        let (data, error) = await data(of: client().events(.get("feed").deadline(.seconds(10))))
        #expect(!data.isEmpty)
        guard case .timedOut(let timeout) = error else { throw try #require(error) }
        #expect(timeout.bound == .deadline && clock.elapsed <= .seconds(10))
    }

    @Test("E1: a byte order mark is left out on every connection, not only on the first")
    func marks() async throws {
        network.on(.get, "/feed") {
            connection("\u{FEFF}data: a\n\n")
            connection("\u{FEFF}data: b\n\n")
            ScriptedReply.status(204)
        }
        let (data, error) = await data(of: client().events(.get("feed")))
        #expect(data == ["a", "b"] && error == nil)
    }

    @Test("no cache answers an event stream, unless the endpoint says otherwise")
    func caches() async throws {
        network.onAny { ScriptedReply.status(204).times(2) }
        _ = await data(of: client().events(.get("feed")))
        _ = await data(of: client().events(.get("feed", headers: ["cache-control": "max-age=5"])))
        #expect(network.sent.map { $0.request.headers.values("Cache-Control") } == [["no-cache"], ["max-age=5"]])
    }

    @Test("the deadline begins with each iteration, and the error names all of it")
    func deadlineOfIteration() async throws {
        network.onAny { connection("data: a\n\n", then: .isSilent).times(2) }
        let events = client().events(.get("feed").deadline(.seconds(30)))
        for _ in 0..<2 {
            try await clock.run { try await clock.sleep(for: .seconds(60)) }
            let (data, error) = await data(of: events)
            #expect(data == ["a"])
            guard case .timedOut(let timeout) = error else { throw try #require(error) }
            #expect(timeout.bound == .deadline && timeout.limit == .seconds(30))
        }
    }

    @Test(
        "an identifier that is no value of a header is sent without its spaces, or not at all",
        arguments: [("42 ", "42"), (" \t7", "7"), ("a\u{1}b", nil)] as [(String, String?)])
    func oddIdentifier(id: String, header: String?) async throws {
        network.on(.get, "/feed") {
            connection("id: \(id)\ndata: a\n\n")
            connection("data: b\n\n")
            ScriptedReply.status(204)
        }
        let (data, error) = await data(of: client().events(.get("feed")))
        #expect(data == ["a", "b"] && error == nil)
        #expect(network.sent.map { $0.request.headers["Last-Event-ID"] } == [nil, header, header])
    }

    @Test("another content type is an error")
    func contentType() async throws {
        network.onAny { .json("{}") }
        let (_, error) = await data(of: client().events(.get("feed")))
        guard case .decodingFailed(let failure) = error else { throw try #require(error) }
        #expect(failure.expected == "text/event-stream" && failure.found == "application/json")
    }

    @Test("E3: a POST is sent once, and `until` ends it cleanly")
    func post() async throws {
        network.on(
            .post, "/chat", connection("data: {\"text\":\"Hel\"}\n\n", "data: {\"text\":\"lo\"}\n\ndata: [DONE]\n\n"))
        network.on(.post, "/cut", connection("data: {\"text\":\"Hel\"}\n\n", then: .breaks))
        struct Part: Decodable, Sendable { var text: String }
        let client = client()
        try await clock.run {
            var text = ""
            let answer = client.events(.post("chat"), of: Part.self).until { $0.data == "[DONE]" }
            for try await part in answer { text += part.text }
            #expect(text == "Hello")
        }
        let (data, error) = await data(of: client.events(.post("cut")))
        #expect(data.count == 1)
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .truncated && network.sent.count == 2)
    }

    @Test(
        "E3: a stream that ends properly, but without the event that `until` waits for, is cut off",
        arguments: [
            ("data: a\n\n", true), ("data: a\n\ndata: [DONE", true), ("", true), ("data: a\n\n: [DONE]\n\n", true),
            // Some servers leave out the last blank line.
            ("data: a\n\ndata: [DONE]", false), ("data: a\n\ndata: [DONE]\n", false),
        ])
    func missingEnd(text: String, isCut: Bool) async throws {
        network.on(.post, "/chat", connection(text))
        let events = client().events(.post("chat")).until { $0.data == "[DONE]" }
        let (data, error) = await data(of: events)
        #expect(data == (text.isEmpty ? [] : ["a"]))
        guard isCut else { return #expect(error == nil) }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .truncated && failure.mayHaveReachedServer)
        #expect("\(failure)".contains("until"))
    }

    @Test("E3: a 204 has no end either; a stream that connects again has none, and is over with a 204")
    func missingEndWithoutContent() async throws {
        network.on(.post, "/chat", .status(204))
        network.on(.get, "/chat", connection("data: a\n\n"), .status(204))
        let client = client()
        let (_, error) = await data(of: client.events(.post("chat")).until { $0.data == "[DONE]" })
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .truncated)
        let (data, none) = await data(of: client.events(.get("chat")).until { $0.data == "[DONE]" })
        #expect(data == ["a"] && none == nil)
        try network.verify()
    }

    @Test("data that does not match is an error that names its event, and ends the call")
    func wrongMessage() async throws {
        network.on(.get, "/feed", connection("id: 7\ndata: 1\n\nid: 8\ndata: x\n\n", then: .isSilent))
        let client = client()
        try await clock.run {
            var numbers = client.events(.get("feed"), of: Int.self).makeAsyncIterator()
            #expect(try await numbers.next() == 1)
            let error = await #expect(throws: ServiceError.self) { try await numbers.next() }
            guard case .decodingFailed(let failure) = error else { throw try #require(error) }
            #expect(failure.description.hasSuffix("in the event with the identifier 8"), "\(failure)")
            #expect(try await numbers.next() == nil)
            await client.shutdown()
        }
    }

    @Test("E5: a connection that is silent for longer than the timeout is replaced")
    func silence() async throws {
        network.on(
            .get, "/feed", connection("id: 1\ndata: a\n\n", then: .isSilent), connection("data: b\n\n"), .status(204))
        let (data, error) = await data(of: client().events(.get("feed").timeout(.seconds(45))))
        #expect(data == ["a", "b"] && error == nil && lastIDs() == [nil, "1", "1"])
        let instants = network.sent.map(\.at)
        #expect(instants[0].duration(to: instants[1]) >= .seconds(46))
    }

    @Test(
        "E6: a stop ends a stream at once, while it reads and in a pause, and leaves nothing", arguments: [true, false])
    func stopped(inPause: Bool) async throws {
        network.on(
            .get, "/feed", connection("retry: 60000\ndata: a\n\n", then: inPause ? .ends : .isSilent))
        let client = client()
        let error = await clock.run {
            async let stopping: Void = {
                try? await clock.sleep(for: .seconds(5))
                client.cancelAll()
            }()
            let error = await #expect(throws: ServiceError.self) {
                for try await _ in client.events(.get("feed")) {}
            }
            await stopping
            return error
        }
        #expect(error == .cancelled && clock.elapsed == .seconds(5))
        await client.shutdown()
        #expect(clock.sleepers == 0)
    }

    @Test("E6: an iterator that is dropped ends its call")
    func dropped() async throws {
        network.on(.get, "/feed", connection("data: a\n\n", then: .isSilent))
        let client = client()
        try await clock.run {
            do {
                var events = client.events(.get("feed")).makeAsyncIterator()
                let first = try await events.next()
                #expect(first?.data == "a")
            }
            await client.shutdown()
        }
        #expect(clock.sleepers == 0)
    }

    enum Change: CaseIterable { case signOut, otherUser }

    @Test(
        "E6: a stream ends at once with its session, while it reads and in a pause; no other user's token is sent",
        arguments: [true, false], Change.allCases)
    func sessionEnds(inPause: Bool, change: Change) async throws {
        network.on(
            .get, "/feed", connection("retry: 60000\ndata: a\n\n", then: inPause ? .ends : .isSilent))
        let tokens = TokenStore(time: clock) { _ in Token(accessToken: "newer") }
        await tokens.signIn(Token(accessToken: "first"))
        let client = client { $0.tokens = tokens }
        let error = await clock.run {
            async let changing: Void = {
                try? await clock.sleep(for: .seconds(5))
                switch change {
                case .signOut: await tokens.signOut()
                case .otherUser: await tokens.signIn(Token(accessToken: "second"))
                }
            }()
            let error = await #expect(throws: ServiceError.self) {
                for try await _ in client.events(.get("feed")) {}
            }
            await changing
            return error
        }
        guard case .sessionExpired(let expiry) = error else { throw try #require(error) }
        #expect(expiry.reason == (change == .signOut ? .signedOut : .otherSession))
        #expect(clock.elapsed == .seconds(5))
        #expect(network.sent.map { $0.request.headers["Authorization"] } == ["Bearer first"])
        await client.shutdown()
        #expect(clock.sleepers == 0)
    }

    @Test("a refresh of the session ends no stream, and the next connection has the new token")
    func refreshed() async throws {
        network.on(
            .get, "/feed", connection("data: a\n\n", "data: b\n\n"), .status(401), connection("data: c\n\n"),
            .status(204))
        let tokens = TokenStore(time: clock) { _ in Token(accessToken: "newer") }
        await tokens.signIn(Token(accessToken: "first"))
        let (data, error) = await data(of: client { $0.tokens = tokens }.events(.get("feed")))
        #expect(data == ["a", "b", "c"] && error == nil)
        #expect(
            network.sent.map { $0.request.headers["Authorization"] }
                == ["Bearer first", "Bearer first", "Bearer newer", "Bearer newer"])
    }
}
