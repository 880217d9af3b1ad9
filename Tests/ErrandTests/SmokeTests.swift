import Errand
import ErrandTesting
import Testing
import Foundation

struct User: Codable, Sendable, Equatable { var id: Int; var name: String }
extension Endpoint where Response == [User] {
    static func friends(of id: Int) -> Self { .get("users/\(id)/friends", query: ["sort": "name"]).unwrapping("users") }
}

@Suite struct SmokeTests {
    @Test func friends() async throws {
        let network = scripted()
        network.on(.get, "/users/7/friends?sort=name") { .json(#"{"users":[{"id":1,"name":"Ann"}]}"#) }
        let client = testClient(network, TestClock())
        let friends = try await client.run(.friends(of: 7))
        #expect(friends == [User(id: 1, name: "Ann")])
        print(client.explain(.friends(of: 7)))
    }

    @Test(arguments: 0..<5 as Range<UInt64>) func twenty(seed: UInt64) async throws {
        let network = scripted()
        network.on(.get, "/x") { ScriptedReply.json("1").always }
        let clock = TestClock(seed: seed)
        let client = testClient(network, clock) { $0.rateLimit = .requests(5, per: .seconds(1)) }
        try await clock.run {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<20 { group.addTask { try await client.run(.get("x")) } }
                for try await _ in group {}
            }
        }
        #expect(clock.elapsed == .seconds(3))
    }

    @Test(arguments: 0..<5 as Range<UInt64>) func refresh(seed: UInt64) async throws {
        let network = scripted()
        let clock = TestClock(seed: seed)
        network.on(
            .get, "/x",
            answering: { request in
                HTTPResponse(
                    status: request.headers["Authorization"] == "Bearer new" ? 200 : 401, body: .bytes(Data("1".utf8)))
            })
        network.on(.post, "/token") { ScriptedReply.json(#"{"t":"new"}"#).after(.seconds(2)) }
        let login = testClient(network, clock)
        let store = TokenStore(time: clock) { _ in
            let answer: [String: String] = try await login.run(.post("token"))
            return Token(access: answer["t"]!)
        }
        await store.signIn(Token(access: "old"))
        let client = testClient(network, clock) { $0.tokens = store }
        try await clock.run {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<50 { group.addTask { try await client.run(.get("x")) } }
                for try await _ in group {}
            }
        }
        #expect(clock.elapsed == .seconds(2))
    }
}
