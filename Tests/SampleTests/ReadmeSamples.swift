import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("README", .timeLimit(.minutes(10)))
struct ReadmeSamples {
    #if os(Linux)
    @Test("the program of the first ten minutes prints two friends")
    func program() async throws {
        #expect(try await firstProgram() == "Ann, Bo")
    }
    #endif

    private func firstProgram() async throws -> String? {
        var printed: String?
        func print(_ text: some CustomStringConvertible) { printed = "\(text)" }
        let server = try LoopbackServer()
        server.on(.get, "/v1/users/7/friends") { _ in
            .json(#"{"users": [{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bo"}]}"#)
        }

        let client = APIClient("\(server.baseURL)/v1")
        do {
            let friends = try await client.run(.friends(of: 7))
            print(friends.map(\.name).joined(separator: ", "))
        } catch {
            print(error)  // a ServiceError: "GET users/7/friends: rejected(404: …)"
        }
        return printed
    }

    private func front(_ me: User) async {
        func show(_ users: [User]) { print(users) }
        func show(message: String) { print(message) }
        // Five requests per second, unless you set another limit.
        let client = APIClient("https://api.example.com/v1") { $0.rateLimit = .requests(20, per: .seconds(1)) }
        do {
            show(try await client.run(Endpoint<[User]>.get("users/\(me.id)/friends")))
        } catch {
            show(message: error.localizedDescription)  // "No internet connection.", or the server's own words
        }
    }
}

@Test("friends are read from below their key")
func friends() async throws {
    let network = ScriptedTransport()
    network.on(.get, "/v1/users/7/friends?sort=name") {
        .json(#"{"users": [{"id": 1, "name": "Ann"}]}"#)
    }
    let client = APIClient("https://api.example.com/v1") { $0.transport = network }
    let friends = try await client.run(.friends(of: 7))
    #expect(friends == [User(id: 1, name: "Ann")])
}
