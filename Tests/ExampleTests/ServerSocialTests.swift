import Errand
import ExampleServer
import Testing

@Suite("Example server: Social", .timeLimit(.minutes(10)))
struct ServerSocialTests {
    private struct Friend: Decodable, Sendable, Equatable {
        var id: Int
        var name: String?
        var email: String?
        var category: String?
    }

    private let server: ExampleServer
    private let client: APIClient
    private let friends = Endpoint<[Friend]>.get("friends")

    init() throws {
        server = try patientServer()
        client = Self.client(server, as: ExampleData.applicationToken)
    }

    private static func client(_ server: ExampleServer, as application: String?) -> APIClient {
        plainClient(server.socialURL) { $0.parameters = ["application_token": application, "user_id": 1] }
    }

    private func ids(in category: String? = nil) async throws -> [Int] {
        try await client.run(.get("friends", query: ["category": category]) as Endpoint<[Friend]>).map(\.id)
    }

    @Test("friends have the names and addresses that they show")
    func list() async throws {
        let friends = try await client.run(friends)
        #expect(friends.map(\.id) == [2, 5, 6, 8])
        #expect(friends.first == Friend(id: 2, name: "Ben Baker", email: "ben@example.com", category: "close friends"))
        #expect(friends[1].name == nil)
        #expect(friends.last?.name == "Zoë Żak 🎬")
        #expect(try await client.run(Endpoint<[Friend]>.get("friends", query: ["user_id": 2])).map(\.id) == [1, 7])
        #expect(try await client.run(Endpoint<[Friend]>.get("friends", query: ["user_id": 3])) == [])
    }

    @Test("a friend who is added is in the list, and one who is removed is not")
    func addAndRemove() async throws {
        let added = try await client.reply(to: Endpoint<Friend>(.post, "friends", parameters: ["friend_id": 3]))
        #expect(added.status == 201)
        #expect(added.value.name == "Cleo Cook")
        #expect(try await ids() == [2, 5, 6, 8, 3])
        _ = try await client.run(Endpoint<NoContent>(.delete, "friends", parameters: ["friend_id": 5]))
        #expect(try await ids() == [2, 6, 8, 3])
        let again = await client.failure(of: Endpoint<NoContent>(.delete, "friends", parameters: ["friend_id": 5]))
        #expect(again?.status == 404)
        #expect(again?.localizedDescription == "User 5 is no friend")
    }

    @Test("friends are put into categories, and listed by them")
    func categories() async throws {
        #expect(try await ids(in: "family") == [5, 8])
        let put = Endpoint<[Friend]>(
            .put, "friends/category", parameters: ["friend_ids": [2, 6], "category": "cards & chess"])
        #expect(try await client.run(put).map(\.category) == ["cards & chess", "family", "cards & chess", "family"])
        #expect(try await ids(in: "cards & chess") == [2, 6])
        let names = Endpoint<[String]>.get("friends/categories")
        #expect(try await client.run(names) == ["cards & chess", "family"])
        _ = try await client.run(Endpoint<[Friend]>(.put, "friends/category", parameters: ["friend_ids": [5, 8]]))
        #expect(try await client.run(names) == ["cards & chess"])
    }

    @Test("with one unknown user among the friends, no category changes")
    func allOrNone() async throws {
        let put = Endpoint<[Friend]>(.put, "friends/category", parameters: ["friend_ids": [2, 7], "category": "x"])
        #expect(await client.failure(of: put)?.status == 404)
        #expect(try await ids(in: "x") == [])
    }

    @Test(
        "errors about a friend are reported by field",
        arguments: [
            (nil, "friend_id is missing"), ("Ben", "friend_id must be a number"), ("99", "There is no user 99"),
            ("1", "Nobody is a friend of themselves"), ("2", "Ben Baker is a friend already"),
        ])
    func validation(id: String?, message: String) async throws {
        let error = await client.failure(of: Endpoint<Friend>(.post, "friends", parameters: ["friend_id": id]))
        guard case .rejected(let rejection) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(rejection.status == 422)
        #expect(rejection.message == message)
        #expect(rejection.fieldErrors == ["friend_id": [message]])
    }

    @Test("forbidden requests get a 403, and change nothing")
    func rights() async throws {
        #expect(await Self.client(server, as: nil).failure(of: friends)?.status == 403)
        #expect(await Self.client(server, as: "stolen").failure(of: friends)?.status == 403)
        let reader = Self.client(server, as: ExampleData.readingApplicationToken)
        #expect(try await reader.run(friends).count == 4)
        let add = Endpoint<Friend>(.post, "friends", parameters: ["friend_id": 3])
        #expect(await reader.failure(of: add)?.localizedDescription == "This application may look, and change nothing")
        let shy = Endpoint<[Friend]>.get("friends", query: ["user_id": ExampleData.shyUserID])
        #expect(await client.failure(of: shy)?.status == 403)
        #expect(try await ids() == [2, 5, 6, 8])
    }

    @Test("a user id is required, and must be known")
    func userID() async throws {
        let client = plainClient(server.socialURL) {
            $0.parameters = ["application_token": ExampleData.applicationToken]
        }
        #expect(await client.failure(of: friends)?.localizedDescription == "user_id is missing")
        #expect(await client.failure(of: Endpoint<[Friend]>.get("friends", query: ["user_id": 99]))?.status == 404)
    }
}
