import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

enum Status: String, Sendable {
    case active, closed
}

struct Membership: Codable, Sendable {
    var status: Open<Status>
}

/// What REST programs would write by hand.
@Suite("Cookbook: conditions, patches, GraphQL and the like")
struct ByHandSamples {
    private let network = scripted()
    private let user = User(id: 7, name: "Ann")

    private func change(_ client: APIClient, to name: String, _ show: (Any?) -> Void) async throws {
        let reply = try await client.reply(to: Endpoint<User>.get("users/7"))
        guard let version = reply.etag else { return }
        let renamed = User(id: reply.value.id, name: name)
        do {
            try await client.run(.put("users/7", body: .json(renamed)).ifMatch(version))
        } catch .rejected(let rejection) where rejection.isPreconditionFailure {
            print("somebody else has changed it; read it again")
        } catch {
            show(error)
        }
    }

    @Test("a resource is changed if nobody else has, and created if there is none")
    func conditions() async throws {
        network.on(.get, "/users/7", .json(#"{"id": 7, "name": "Ann"}"#, headers: ["ETag": #""a1""#]))
        network.on(.put, "/users/7", .status(412))
        network.on(.put, "/users/7", .status(201))
        let client = testClient(network)
        let name = "Bo"
        try await change(client, to: name) { error in Issue.record("\(error ?? "")") }
        #expect(network.sent.last?.request.headers["If-Match"] == #""a1""#)
        let user = User(id: 7, name: name)
        try await client.run(.put("users/7", body: .json(user)).ifNoneMatch(.any))
        #expect(network.sent.last?.request.headers["If-None-Match"] == "*")
    }

    @Test("only what has changed is sent")
    func patches() async throws {
        network.on(.get, "/users/7", .json(#"{"id": 7, "name": "Ann"}"#))
        network.onAny { ScriptedReply.status(204).always }
        let (client, name) = (testClient(network), "Bo")
        let user: User = try await client.run(.get("users/7"))
        var changed = user
        changed.name = name
        try await client.run(.patch("users/7", body: .mergePatch(from: user, to: changed)))
        let patch: JSONPatch = [.test("/version", 3), .replace("/name", name), .remove("/tags/0")]
        try await client.run(.patch("users/7", body: .jsonPatch(patch)))
        #expect(network.sent[1].body == Data(#"{"name":"Bo"}"#.utf8))
        try await sendNulls(client, name)
    }

    private func sendNulls(_ client: APIClient, _ name: String) async throws {
        let user = User(id: 7, name: name)
        try await client.run(.put("users/7", body: .json(user, explicitNulls: true)))
    }

    private func find(_ client: APIClient, _ id: User.ID, _ show: (Any?) -> Void) async throws {
        let query = "query($id: ID!) { user(id: $id) { id name } }"
        do {
            let user: User = try await client.run(.graphQL(query, variables: ["id": id]).unwrapping("user"))
            show(user)
        } catch .rejected(let rejection) {
            show(rejection.message)
        } catch {
            show(error)
        }
    }

    private func findInPart(_ client: APIClient, _ show: (Any?) -> Void) async throws -> User? {
        struct Found: Decodable, Sendable, Equatable {
            var user: User?
        }

        let reply = try await client.run(Endpoint<GraphQLReply<Found>>.graphQL("{ user(id: 7) { id name } }"))
        if let error = reply.errors.first { print(error.message, error.path) }
        if let user = reply.data?.user { show(user) }
        return reply.data?.user
    }

    @Test("a GraphQL API is called")
    func graphQL() async throws {
        network.on(.post, "/graphql", .json(#"{"data": null, "errors": [{"message": "Gone"}]}"#))
        let data = #"{"user": {"id": 7, "name": "Ann"}}"#
        network.on(.post, "/graphql", .json(#"{"data": \#(data), "errors": [{"message": "Old"}]}"#))
        let client = testClient(network)
        let shown = Noted<[String]>([])
        try await find(client, 7) { value in shown.update { $0.append("\(value ?? "nothing")") } }
        #expect(shown.value == ["Gone"])
        #expect(try await findInPart(client) { _ in } == user)
    }

    private func showStatus(_ client: APIClient, _ show: (String) -> Void) async throws {
        let membership: Membership = try await client.run(.get("membership"))
        switch membership.status {
        case .known(.active): show("active")
        case .known(.closed): show("closed")
        case .unknown(let text): show(text)
        }
    }

    @Test("an unknown value of an enumeration is kept", arguments: ["active", "closed", "frozen"])
    func openValues(status: String) async throws {
        network.on(.get, "/membership", .json(#"{"status": "\#(status)"}"#))
        try await showStatus(testClient(network)) { #expect($0 == status) }
    }

    @Test("problem details are read")
    func problems() async throws {
        let type: HTTPHeaders = ["Content-Type": "application/problem+json"]
        network.on(.get, "/friends", .status(403, headers: type, body: #"{"detail": "No credit"}"#))
        let client = testClient(network)
        func show(_ shown: Any) { #expect("\(shown)" == "No credit") }
        do {
            show(try await client.run(.friends))
        } catch .rejected(let rejection) {
            show(rejection.problem?.detail ?? rejection.description)
        } catch {
            show(error)
        }
        let details = ErrorDetails.decoding(Refusal.self, below: "error")
        let reading = testClient(network) { $0.errorDetails = details }
        network.on(.get, "/friends", .status(402, body: #"{"error": {"code": "credit", "balance": 3}}"#))
        let error = try await #require(throws: ServiceError.self) { try await reading.run(.friends) }
        #expect(error.details(as: Refusal.self)?.balance == 3)
    }

    @Test("bodies are logged, deprecated endpoints are told, and connections are opened")
    func events() async throws {
        let logging = {
            let client = APIClient("https://api.example.com") {
                $0.bodiesInEvents = 1000
                $0.observe = { print(LogFormatter().line(for: $0)) }
            }
            return client
        }()
        #expect(logging.configuration.bodiesInEvents == 1000)
        network.on(.head, "/", .status(200).times(2))
        network.on(.get, "/friends", .json("[]", headers: ["Sunset": "Sun, 30 Jun 2030 23:59:59 GMT"]))
        let told = Noted<[String]>([])
        let client = testClient(network) {
            $0.environment = ServerEnvironment(name: "old", baseURL: "https://by-hand.test")
            $0.observe = { event in
                if case .deprecated = event.kind { told.update { $0.append(event.endpoint) } }
            }
        }
        try await client.warmUp(connections: 2)
        let listener = Task { await listen(to: client) }
        _ = try await client.run(.friends)
        await client.shutdown()
        await listener.value
        #expect(told.value == ["GET friends"])
    }

    private func listen(to client: APIClient) async {
        for await event in client.diagnostics {
            if case .deprecated(let deprecation) = event.kind { print(event.endpoint, deprecation) }
        }
    }

    #if os(Linux)
    @Test("a development server is trusted, and HTTP/1.1 is a choice")
    func connections() {
        let trusting = {
            let client = APIClient("https://localhost:8443") {
                $0.developmentCertificate = .file("localhost.pem", hosts: ["localhost"])
            }
            return client
        }()
        #expect(trusting.configuration.developmentCertificate?.hosts == ["localhost"])
        let first = {
            var options = CurlTransport.Options()
            options.allowsHTTP2 = false
            let client = APIClient("https://api.example.com") { $0.transport = CurlTransport(options) }
            return client
        }()
        #expect(first.configuration.transport != nil)
    }
    #endif
}
