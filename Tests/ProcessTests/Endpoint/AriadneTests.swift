#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

/// A GraphQL API of Ariadne, which is a Python program: Tests/GraphQLServer.
enum AriadneServer {
    static let python = AuthorizationProgram.python(with: "ariadne.wsgi")
}

@Suite(
    "GraphQL, with Ariadne", .enabled(if: AriadneServer.python != nil, "no Python with Ariadne is installed"),
    .timeLimit(.minutes(10)))
struct AriadneTests {

    private struct User: Decodable, Sendable, Equatable {
        var name: String
        var email: String?
        var friends: [User]?
    }

    private let program: AuthorizationProgram
    private let client: APIClient

    init() async throws {
        program = try await AuthorizationProgram("../GraphQLServer/server.py", with: AriadneServer.python)
        client = APIClient(program.origin) {
            $0.rateLimit = .unlimited
            // Real time: a busy machine must not fail the test.
            $0.timeout = .seconds(60)
        }
    }

    private func rejection<Value>(of call: Endpoint<Value>) async throws -> Rejection {
        let error = try await #require(throws: ServiceError.self) { try await client.run(call) }
        guard case .rejected(let rejection) = error else { throw error }
        return rejection
    }

    @Test("a query and a mutation with variables have their values")
    func values() async throws {
        let query = "query($id: ID!) { user(id: $id) { name email } }"
        let user: User = try await client.run(.graphQL(query, variables: ["id": 7]).unwrapping("user"))
        #expect(user == User(name: "Ann", email: "ann@example.com"))
        let missing: User? = try await client.run(.graphQL(query, variables: ["id": "none"]).unwrapping("user"))
        #expect(missing == nil)
        let mutation = "mutation($id: ID!, $name: String) { rename(id: $id, name: $name) { name } }"
        let renamed: User = try await client.run(
            .graphQL(mutation, variables: ["id": "7", "name": "An\"n\n"]).unwrapping("rename"))
        #expect(renamed.name == "An\"n\n")
        try await client.run(.graphQL(mutation, variables: ["id": "7", "name": "Ann"]))
    }

    @Test("errors have their message, code and path, whatever the status is")
    func errors() async throws {
        let me = try await rejection(of: Endpoint<User>.graphQL("{ me { name } }").unwrapping("me"))
        #expect(me.status == 200 && me.message == "Sign in first" && me.code == "UNAUTHENTICATED")
        #expect(me.fieldErrors == ["me": ["Sign in first"]])
        let mutation = "mutation($id: ID!) { rename(id: $id) { name } }"
        let renamed = try await rejection(of: Endpoint<NoContent>.graphQL(mutation, variables: ["id": "7"]))
        #expect(renamed.status == 200 && renamed.message == "A name, please")
        let unknown = try await rejection(of: Endpoint<User>.graphQL("{ nobody }"))
        #expect(unknown.status == 400 && unknown.message?.contains("nobody") == true)
    }

    @Test("partial data is an error, or comes beside the errors where that is asked for")
    func partialData() async throws {
        let query = "{ user(id: 7) { name friends { name email } } }"
        let call = Endpoint<User>.graphQL(query).unwrapping("user")
        #expect(try await rejection(of: call).fieldErrors == ["user.friends[1].email": ["No such user"]])
        let reply = try await client.run(Endpoint<GraphQLReply<[String: User]>>.graphQL(query))
        #expect(reply.data?["user"]?.friends?.map(\.email) == ["bo@example.com", nil])
        #expect(reply.errors.map(\.path) == ["user.friends[1].email"])
        #expect(reply.errors.first?.extensions?["code"] == "NOT_FOUND")
    }
}
#endif
