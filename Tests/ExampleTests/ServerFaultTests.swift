import Errand
import ExampleServer
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Example server: faults", .timeLimit(.minutes(10)))
struct ServerFaultTests {
    private struct Friend: Decodable, Sendable {
        var id: Int
    }

    /// Any object with or without an id.
    private struct Someone: Decodable, Sendable {
        var id: Int?
    }

    private typealias Fault = ExampleServer.Fault

    private static let path = "/social/api/v1/friends"
    private let server: ExampleServer
    private let client: APIClient
    private let friends = Endpoint<[Friend]>.get("friends")
    private let add = Endpoint<Friend>(.post, "friends", parameters: ["friend_id": 3])

    init() throws {
        server = try patientServer()
        client = plainClient(server.socialURL) {
            $0.parameters = ["application_token": ExampleData.applicationToken, "user_id": 1]
        }
    }

    /// Returns how the list of friends fails with that fault, requested in both ways.
    private func failures(with fault: Fault, header: String) async -> [ServiceError?] {
        server.fail(fault, on: Self.path)
        let planned = await client.failure(of: friends)
        let asked = await client.failure(of: asking(header))
        return [planned, asked]
    }

    private func asking(_ header: String) -> Endpoint<[Friend]> {
        .get("friends", headers: [Fault.header: header])
    }

    @Test("the next requests get the status, and the one after them is served")
    func status() async throws {
        server.fail(.status(503), next: 2, on: Self.path)
        for _ in 0..<2 { #expect(await client.failure(of: friends)?.status == 503) }
        #expect(try await client.run(friends).count == 4)
        #expect(await client.failure(of: asking("status 500"))?.status == 500)
    }

    @Test("a client that retries succeeds")
    func retried() async throws {
        server.fail(.status(503), next: 2, on: Self.path)
        let reply = try await client.reply(to: friends.retry(.standard))
        #expect(reply.attempts == 3)
    }

    @Test("an error may have no message")
    func emptyMessage() async {
        for error in await failures(with: .status(500, message: ""), header: "empty-message 500") {
            guard case .serverFailure(let rejection) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(String(decoding: rejection.body, as: UTF8.self) == #"{"message":""}"#)
        }
    }

    @Test("a slow response is the correct one, and too slow for a client with a short timeout")
    func slow() async throws {
        server.fail(.slow(.milliseconds(50)), on: Self.path)
        let reply = try await client.reply(to: friends)
        #expect(reply.value.count == 4)
        #expect(reply.duration >= .milliseconds(50))
        #expect(try await client.reply(to: asking("slow 50")).duration >= .milliseconds(50))
        server.fail(.slow(.seconds(60)), on: Self.path)
        guard case .timedOut = await client.failure(of: friends.timeout(.milliseconds(100))) else {
            Issue.record("it did not time out")
            return
        }
    }

    @Test("a connection that is reset sends nothing, and nothing was done")
    func reset() async throws {
        for error in await failures(with: .reset, header: "reset") { #expect(error?.isBrokenConnection == true) }
        server.fail(.reset, on: Self.path)
        #expect(await client.failure(of: add)?.isBrokenConnection == true)
        #expect(try await client.run(friends).count == 4)
    }

    @Test("a lost response comes after the request was carried out")
    func lostAnswer() async throws {
        for error in await failures(with: .lostAnswer, header: "lost-answer") {
            #expect(error?.isBrokenConnection == true)
        }
        server.fail(.lostAnswer, on: Self.path)
        #expect(await client.failure(of: add)?.isBrokenConnection == true)
        #expect(try await client.run(friends).map(\.id) == [2, 5, 6, 8, 3])
    }

    @Test("a page of HTML is not a list of friends")
    func html() async {
        for error in await failures(with: .html, header: "html") {
            guard case .decodingFailed(let failure) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(failure.status == 200)
            #expect(failure.found.contains("text/html"))
        }
    }

    @Test("broken JSON has a complete body, but is cut off")
    func brokenJSON() async {
        for error in await failures(with: .brokenJSON, header: "broken-json") {
            guard case .decodingFailed = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
    }

    @Test("JSON that is labeled as HTML is read by a client that accepts it")
    func mislabeled() async throws {
        for error in await failures(with: .mislabeled, header: "mislabeled") {
            guard case .decodingFailed = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        let lenient = plainClient(server.socialURL) {
            $0.parameters = client.configuration.parameters
            $0.acceptedContentTypes += ["text/html"]
        }
        server.fail(.mislabeled, on: Self.path)
        #expect(try await lenient.run(friends).count == 4)
    }

    @Test("an element without an id is between valid ones, in a list and in one under a key")
    func stranger() async throws {
        for error in await failures(with: .elementWithoutID, header: "element-without-id") {
            guard case .decodingFailed(let failure) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(failure.path == "[1].id")
        }
        server.fail(.elementWithoutID, next: 2, on: "/")
        #expect(try await client.run(Endpoint<[Someone]>.get("friends")).map(\.id) == [2, nil, 5, 6, 8])
        let movies = plainClient(server.moviesURL) { $0.parameters = ["api_key": ExampleData.apiKey] }
        let popular = Endpoint<[Someone]>.get("popular").unwrapping("results")
        #expect(try await movies.run(popular).prefix(3).map(\.id) == [1, nil, 2])
    }

    @Test("each backend fails in its own format")
    func shapes() async {
        server.fail(.status(400, message: "No."), next: 4, on: "/")
        for (url, body) in [
            (server.socialURL, #"{"message":"No."}"#), (server.centralURL, #"{"message":"No."}"#),
            (server.moviesURL, #"{"status_code":11,"status_message":"No.","success":false}"#),
            (server.pinsURL, #"{"error":"fault","error_description":"No."}"#),
        ] {
            guard case .rejected(let rejection) = await plainClient(url).failure(of: friends) else {
                Issue.record("\(url) was not refused")
                continue
            }
            #expect(String(decoding: rejection.body, as: UTF8.self) == body)
        }
    }

    @Test("faults come in the order in which they were requested, below their path and nowhere else")
    func order() async throws {
        server.fail(.status(501), on: "/social/api/v1/friends/categories")
        server.fail(.status(502), on: "/social")
        server.fail(.status(503), on: "social/api/")
        server.fail(.status(504), on: "/social/api/v1/fri")
        server.fail(.status(505), next: 0, on: "/")
        #expect(await client.failure(of: friends)?.status == 502)
        #expect(await client.failure(of: friends)?.status == 503)
        #expect(try await client.run(friends).count == 4)
        let categories = Endpoint<[String]>.get("friends/categories")
        #expect(await client.failure(of: categories)?.status == 501)
        #expect(try await client.run(categories) == ["close friends", "family"])
    }

    @Test("the remaining faults can be discarded")
    func forgotten() async throws {
        server.fail(.status(503), next: 100, on: "/")
        #expect(await client.failure(of: friends)?.status == 503)
        server.stopFailing()
        #expect(try await client.run(friends).count == 4)
    }

    @Test(
        "a header with an unknown fault is refused",
        arguments: ["", "status", "status 200", "status x", "slow -1", "reset 5", "HTML", "status 500 x"])
    func unknown(header: String) async {
        #expect(await client.failure(of: asking(header))?.status == 400)
    }
}

extension ServiceError {
    fileprivate var isBrokenConnection: Bool {
        if case .transport(let failure) = self { failure.kind == .reset } else { false }
    }
}
