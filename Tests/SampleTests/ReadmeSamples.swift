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

    @Test("the sample that fits a screen compiles")
    func screen() async throws {
        let network = scripted()
        let client = testClient(network)
        network.on(.get, "/users/7/friends?sort=name") { .json(#"{"users":[{"id":1,"name":"Ann"}]}"#) }
        #expect(await screen(User(id: 7, name: "Me"), client) == ["Ann"])
    }

    private func tokens() {
        let login = APIClient("https://login.example.com")
        let tokens = TokenStore(persistence: .file("/var/lib/app/session")) { old in
            try await login.run(.refresh(old)).token
        }
        let client = APIClient("https://api.example.com/v1") {
            $0.tokens = tokens
            $0.rateLimit = .requests(5, per: .seconds(1))
        }
        _ = client
    }

    private func screen(_ me: User, _ client: APIClient) async -> [String] {
        var names: [String] = []
        func show(_ users: [User]) { names = users.map(\.name) }
        func showSignIn() { names = ["sign in"] }
        func show(message: String) { names = [message] }
        do {
            show(try await client.run(.friends(of: me.id)))  // [User]
        } catch .cancelled {
            // The task was canceled; the result is not needed.
        } catch let error where error.needsSignIn {
            showSignIn()
        } catch {
            show(message: error.localizedDescription)  // "No internet connection.", or the server's own words
        }
        return names
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
