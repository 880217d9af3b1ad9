@testable import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("Event streams: how they end for listeners", .timeLimit(.minutes(10)))
struct EventEndTests: EventScene {
    let clock = TestClock(seed: 5)
    let network = scripted()

    /// Runs the body, and returns what the listeners received about the end of each call.
    private func ends(of body: @escaping @Sendable (APIClient) async throws -> Void) async throws -> [ClientEvent.Kind]
    {
        let kinds = Noted<[ClientEvent.Kind]>([])
        let client = client { $0.observe = { event in kinds.update { $0.append(event.kind) } } }
        try await clock.run { try await body(client) }
        return kinds.value.filter {
            switch $0 {
            case .succeeded, .ended: true
            default: false
            }
        }
    }

    /// The names of the errors, and nothing for a success.
    private func errors(_ ends: [ClientEvent.Kind]) -> [ServiceError?] {
        ends.map { if case .ended(let error, _, _) = $0 { error } else { nil } }
    }

    @Test("E3: a stream that `until` ends has succeeded, at once", arguments: [true, false])
    func until(isDecoded: Bool) async throws {
        network.on(.post, "/chat", connection("data: 1\n\ndata: [DONE]\n\n", then: .isSilent))
        let ends = try await ends { client in
            let events = client.events(.post("chat")).until { $0.data == "[DONE]" }
            if isDecoded {
                var values = events.decoded(Int.self).makeAsyncIterator()
                while try await values.next() != nil {}
                #expect(await client.activity.first { _ in true } == 0)
            } else {
                var iterator = events.makeAsyncIterator()
                while try await iterator.next() != nil {}
                #expect(await client.activity.first { _ in true } == 0)
            }
            await client.shutdown()
        }
        #expect(ends == [.succeeded(attempts: 1, after: .seconds(1))])
    }

    @Test("E3: a stream whose end has not come has failed for listeners too")
    func cutOff() async throws {
        network.on(.post, "/chat", connection("data: 1\n\n"))
        let ends = try await ends { client in
            let events = client.events(.post("chat")).until { $0.data == "[DONE]" }
            await #expect(throws: ServiceError.self) { for try await _ in events {} }
            #expect(await client.activity.first { _ in true } == 0)
            await client.shutdown()
        }
        guard case .transport(let failure) = errors(ends).first ?? nil else {
            throw try #require(errors(ends).first ?? nil)
        }
        #expect(failure.kind == .truncated && ends.count == 1)
    }

    @Test("E2: a stream that the server ends with a 204 has succeeded")
    func noContent() async throws {
        network.on(.get, "/feed", .status(204))
        let ends = try await ends { client in
            for try await _ in client.events(.get("feed")) {}
            await client.shutdown()
        }
        #expect(ends == [.succeeded(attempts: 1, after: .zero)])
    }

    @Test("a stream that its reader leaves is reported as cancelled")
    func left() async throws {
        network.on(.get, "/feed", connection("data: 1\n\n", then: .isSilent))
        let ends = try await ends { client in
            for try await _ in client.events(.get("feed")) { break }
            await client.shutdown()
        }
        #expect(errors(ends) == [.cancelled])
    }

    @Test("an event that cannot be read ends its call with that error, which names the call")
    func wrongEvent() async throws {
        network.on(.get, "/feed", connection("data: x\n\n", then: .isSilent).times(2))
        network.on(.get, "/page", .json("{}"))
        let thrown = Noted<[ServiceError]>([])
        let ends = try await ends { client in
            func check(_ next: () async throws -> Any?) async throws {
                let error = try await #require(throws: ServiceError.self) { _ = try await next() }
                thrown.update { $0.append(error) }
                #expect(await client.activity.first { _ in true } == 0, "\(error)")
            }
            var values = client.events(.get("feed"), of: Int.self).makeAsyncIterator()
            try await check { try await values.next() }
            var long = client.events(.get("feed")).maximumLength(3).makeAsyncIterator()
            try await check { try await long.next() }
            var page = client.events(.get("page")).makeAsyncIterator()
            try await check { try await page.next() }
            await client.shutdown()
        }
        #expect(errors(ends) == thrown.value)
        #expect(thrown.value.map(\.call) == ["GET feed", "GET feed", "GET page"])
        #expect(errors(ends).map { $0?.call } == ["GET feed", "GET feed", "GET page"])
        guard case .decodingFailed = thrown.value[0], case .transport(let failure) = thrown.value[1],
            case .decodingFailed = thrown.value[2]
        else { throw thrown.value[0] }
        #expect(failure.kind == .tooLarge)
    }

    @Test("a line that cannot be read ends its call with that error, which names the call", arguments: [true, false])
    func wrongLine(isLong: Bool) async throws {
        network.on(.get, "/log", .chunks([Data("{\"x\":1}\n".utf8)]).thenSilence)
        let thrown = Noted<ServiceError?>(nil)
        let ends = try await ends { client in
            let response = try await client.stream(.get("log"))
            var lines = response.lines(maximumLength: isLong ? 3 : 100).makeAsyncIterator()
            if isLong {
                thrown.value = try await #require(throws: ServiceError.self) { try await lines.next() }
            } else {
                var rows = StreamedResponse.Rows<Int>.Iterator(lines: lines, decoding: response.decoding)
                thrown.value = try await #require(throws: ServiceError.self) { try await rows.next() }
            }
            // The iterators are still there, and hold no connection.
            #expect(await client.activity.first { _ in true } == 0)
            withExtendedLifetime(lines) {}
        }
        #expect(errors(ends) == [thrown.value])
        #expect(thrown.value?.call == "GET log" && errors(ends).first??.call == "GET log")
    }
}
