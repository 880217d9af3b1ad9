import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("GraphQL")
struct GraphQLTests {
    private struct User: Decodable, Sendable, Equatable {
        var name: String
        var friends: [String?]?
    }

    private let network = scripted()
    private let query = "query Q($id: ID!) { user(id: $id) { name } }"

    private func failure(_ reply: ScriptedReply) async throws -> ServiceError {
        network.onAny { reply }
        return try await #require(throws: ServiceError.self) {
            try await testClient(network).run(Endpoint<User>.graphQL(query).unwrapping("user"))
        }
    }

    @Test("a call has the query, its variables and the operation, whatever the encoder does to names")
    func request() async throws {
        network.onAny { ScriptedReply.json(#"{"data":{"user":{"name":"Ann"}},"errors":[]}"#).always }
        let client = testClient(network) { $0.encoder = .json(keys: .snakeCase) }
        let none: String? = nil
        let call = Endpoint<User>.graphQL(query, variables: ["id": 7, "note": none, "at": "\"\n"], operation: "Q")
        #expect(try await client.run(call.unwrapping("user")).name == "Ann")
        struct Variables: Encodable { var userID = 7 }
        let other: [String: User] = try await client.run(
            .graphQL("{ user { name } }", variables: Variables(), path: "api/graphql"))
        #expect(other["user"]?.name == "Ann")
        let sent = network.sent.map(\.request)
        let bodies = try sent.map { try JSONDecoder().decode(JSONValue.self, from: $0.body?.bytes ?? Data()) }
        #expect(
            bodies == [
                ["query": .string(query), "operationName": "Q", "variables": ["id": 7, "at": "\"\n"]],
                ["query": "{ user { name } }", "variables": ["user_id": 7]],
            ])
        #expect(sent.map(\.url.path) == ["/graphql", "/api/graphql"] && sent.allSatisfy { $0.method == .post })
        #expect(sent[0].headers["Content-Type"] == "application/json")
        #expect(sent[0].headers["Accept"]?.hasPrefix("application/graphql-response+json") == true)
    }

    @Test("variables that are no object are refused, and nothing is sent")
    func variables() async throws {
        let error = try await #require(throws: ServiceError.self) {
            try await testClient(network).run(Endpoint<User>.graphQL(query, variables: [1, 2]))
        }
        guard case .invalidRequest(let invalid) = error else { throw error }
        #expect(invalid.reason.contains("variables") && network.sent.isEmpty)
    }

    @Test("errors in a 200 are a rejection with the message, the code and the path of each, data or not")
    func errors() async throws {
        let errors =
            #"[{"message":"No such user","path":["user","friends",0,"name"],"extensions":{"code":"NOT_FOUND"}},"#
            + #"{"message":"Too deep","path":["user"]},{"message":"Odd"}]"#
        for data in ["null", #"{"user":{"name":"Ann"}}"#] {
            let error = try await failure(.json(#"{"data":\#(data),"errors":\#(errors)}"#))
            guard case .rejected(let rejection) = error else { throw error }
            #expect(rejection.status == 200 && rejection.message == "No such user" && rejection.code == "NOT_FOUND")
            #expect(
                rejection.fieldErrors == ["user.friends[0].name": ["No such user"], "user": ["Too deep"]])
            #expect("\(error)".contains("No such user") && !error.isTransient)
        }
        // Also without the status of a success, in the other media type.
        let reply = ScriptedReply.status(
            400, headers: ["Content-Type": "application/graphql-response+json"],
            body: #"{"errors":[{"message":"Syntax error","extensions":{"code":"PARSE"}},{"message":"b"}]}"#)
        guard case .rejected(let rejection) = try await failure(reply) else { throw Unexpected() }
        #expect(rejection.message == "Syntax error" && rejection.code == "PARSE" && rejection.status == 400)
        let later = ScriptedReply.json(#"{"errors":[{"message":"A"},{"message":"B","extensions":{"code":"X"}}]}"#)
        let first = try await failure(later).rejection
        #expect(first?.message == "A" && first?.code == nil)
    }

    @Test("errors end a call without a value as well")
    func mutation() async throws {
        network.onAny { .json(#"{"data":null,"errors":[{"message":"Denied"}]}"#) }
        let error = try await #require(throws: ServiceError.self) {
            try await testClient(network).run(Endpoint<NoContent>.graphQL("mutation { delete }"))
        }
        #expect(error.rejection?.message == "Denied")
        // Options that are set afterwards change nothing about that.
        var call = Endpoint<NoContent>.graphQL("mutation { delete }")
        call.options = CallOptions()
        network.onAny { .json(#"{"errors":[{"message":"Denied"}]}"#) }
        let again = await #expect(throws: ServiceError.self) { try await testClient(network).run(call) }
        #expect(again?.rejection?.message == "Denied")
        for page in ["<p>", "{}", "[]", #"{"errors":["#] {
            network.onAny { .json(page) }
            let error = await #expect(throws: ServiceError.self) { try await testClient(network).run(call) }
            guard case .decodingFailed = error else { throw try #require(error) }
        }
        network.onAny { .json(#"{"data":{"delete":true}}"#) }
        try await testClient(network).run(call)
    }

    @Test("of many errors, the first hundred are read, and an optional reply has them too")
    func many() async throws {
        let errors = (0..<100_000).map { #"{"message":"m\#($0)","path":["p\#($0)"]}"# }.joined(separator: ",")
        let error = try await failure(.json(#"{"errors":[\#(errors)]}"#))
        #expect(error.rejection?.message == "m0" && error.rejection?.fieldErrors.count == 100)
        network.onAny { .json(#"{"errors":[{"message":"m"}]}"#) }
        let reply = try await testClient(network).run(Endpoint<GraphQLReply<User>?>.graphQL(query))
        #expect(reply?.errors.map(\.message) == ["m"])
    }

    @Test(
        "an answer that is none of GraphQL's is an error that says so",
        arguments: ["[]", "{}", #"{"user":1}"#, "<p>"])
    func noGraphQL(body: String) async throws {
        guard case .decodingFailed = try await failure(.json(body)) else { throw Unexpected() }
        network.onAny { .json(body) }
        let error = try await #require(throws: ServiceError.self) {
            try await testClient(network).run(Endpoint<GraphQLReply<User>>.graphQL(query))
        }
        guard case .decodingFailed = error else { throw error }
    }

    @Test("a reply has the data beside the errors")
    func partial() async throws {
        network.onAny {
            .json(
                #"{"data":{"name":"Ann","friends":["Bo",null]},"errors":[{"message":"Gone","path":["friends",1],"#
                    + #""extensions":{"code":"GONE"}}]}"#)
        }
        let reply = try await testClient(network).run(Endpoint<GraphQLReply<User>>.graphQL("{ name friends }"))
        #expect(reply.data == User(name: "Ann", friends: ["Bo", nil]))
        #expect(reply.errors.map(\.message) == ["Gone"] && reply.errors.map(\.path) == ["friends[1]"])
        #expect(reply.errors[0].extensions?["code"] == "GONE")
    }

    @Test("what a server repeats of a secret is not shown")
    func secrets() async throws {
        network.onAny { .json(#"{"errors":[{"message":"token t0p-secret is bad","path":["t0p-secret"]}]}"#) }
        let client = testClient(network) { $0.credentials = .bearer("t0p-secret") }
        let error = try await #require(throws: ServiceError.self) {
            try await client.run(Endpoint<User>.graphQL(query))
        }
        let shown = "\(error) \(error.rejection?.fieldErrors ?? [:])"
        #expect(shown.contains("is bad") && !shown.contains("t0p-secret"))
    }

    private struct Unexpected: Error {}
}
