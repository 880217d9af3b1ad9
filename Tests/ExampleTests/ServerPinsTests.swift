import Errand
import ExampleServer
import Testing

@Suite("Example server: Pins", .timeLimit(.minutes(10)))
struct ServerPinsTests {
    private struct People: Decodable, Sendable {
        var users: [PinsUser]
        var next_max_id: Int?
    }

    private struct Pin: Decodable, Sendable {
        var pin_id: Int
        var user_id: Int
        var title: String
        var created_at: String
        var nav_link: String
        var comment_count: Int
        var user: PinsUser
    }

    private struct Comment: Decodable, Sendable {
        var comment_id: Int
        var user_id: Int
        var text: String
        var created_at: String
        var nav_link: String
        var user: PinsUser
    }

    private let server: ExampleServer
    private let pins: PinsClient

    init() throws {
        server = try patientServer()
        pins = PinsClient(server)
    }

    private func people(_ path: EndpointPath, _ query: QueryItems, _ token: TokenAnswer) async throws -> People {
        try await pins.run(.get(path, query: query), token)
    }

    @Test("without a token nothing is shown")
    func unsigned() async throws {
        let error = await pins.client.failure(of: .signedInUser)
        #expect(error?.status == 401)
        guard case .rejected(let rejection) = error else { return }
        #expect(rejection.headers["WWW-Authenticate"] == "Bearer")
    }

    @Test("following a user adds a follower, and unfollowing removes it; doing it twice changes nothing more")
    func follow() async throws {
        let token = try await pins.signIn(ExampleData.cleo)
        let before = try await pins.run(Endpoint<PinsUser>.get("users/2"), token)
        for _ in 0..<2 { _ = try await pins.run(Endpoint<NoContent>.put("users/2/follow"), token) }
        #expect(
            try await pins.run(Endpoint<PinsUser>.get("users/2"), token).follower_count == before.follower_count + 1)
        #expect(try await people("users/3/following", [:], token).users.map(\.user_name) == ["ben"])
        #expect(try await people("users/2/followers", [:], token).users.contains { $0.user_id == 3 })
        for _ in 0..<2 { _ = try await pins.run(Endpoint<NoContent>.delete("users/2/follow"), token) }
        #expect(try await pins.run(Endpoint<PinsUser>.get("users/2"), token) == before)
        #expect(await pins.failure(of: Endpoint<NoContent>.put("users/3/follow"), token)?.status == 422)
        #expect(await pins.failure(of: Endpoint<NoContent>.put("users/99/follow"), token)?.status == 404)
    }

    @Test("followers come in parts, each below the last id of the previous one", arguments: [nil, 1, 7, 47, 200])
    func paging(count: Int?) async throws {
        let token = try await pins.signIn()
        var ids: [Int] = []
        var maxID: Int?
        var parts = 0
        repeat {
            let part = try await people("users/1/followers", ["count": count, "max_id": maxID], token)
            ids += part.users.map(\.user_id)
            parts += 1
            maxID = part.next_max_id
            if maxID != nil { #expect(maxID == part.users.last?.user_id) }
        } while maxID != nil && parts < 100
        #expect(ids == Array((101...145).reversed()) + [6, 2])
        #expect(parts == (47 + (min(count ?? 20, 100)) - 1) / min(count ?? 20, 100))
    }

    @Test(
        "invalid paging parameters are refused",
        arguments: [["count": "0"], ["count": "x"], ["max_id": "-1"]] as [QueryItems])
    func badParts(query: QueryItems) async throws {
        let token = try await pins.signIn()
        let error = await pins.failure(of: Endpoint<People>.get("users/1/followers", query: query), token)
        #expect(error?.status == 400)
    }

    @Test("a new pin is the newest, has its user, and is removed with its comments")
    func pinning() async throws {
        let (ann, ben) = (try await pins.signIn(), try await pins.signIn(ExampleData.ben))
        let made = try await pins.run(Endpoint<Pin>(.post, "pins", parameters: ["title": "Ein Weg & \"mehr\""]), ann)
        #expect(made.user.user_name == "ann")
        #expect(made.nav_link == "/pins/\(made.pin_id)")
        let all = Endpoint<[Pin]>.get("pins").unwrapping("pins")
        #expect(try await pins.run(all, ben).map(\.pin_id) == [6, 5, 4, 3, 2, 1])
        #expect(try await pins.run(all, ben).first?.title == "Ein Weg & \"mehr\"")
        let hers = Endpoint<[Pin]>.get("users/1/pins").unwrapping("pins")
        #expect(try await pins.run(hers, ben).map(\.pin_id) == [6, 5, 3, 1])
        let said = Endpoint<Comment>(.post, "pins/6/comments", parameters: ["text": "Oh!"])
        #expect(try await pins.run(said, ben).user.user_name == "ben")
        #expect(try await pins.run(Endpoint<Pin>.get("pins/6"), ann).comment_count == 1)
        #expect(await pins.failure(of: Endpoint<NoContent>.delete("pins/6"), ben)?.status == 403)
        _ = try await pins.run(Endpoint<NoContent>.delete("pins/6"), ann)
        #expect(await pins.failure(of: Endpoint<Pin>.get("pins/6"), ann)?.status == 404)
        #expect(try await pins.run(all, ben).count == 5)
    }

    @Test("comments have their users, and each is removed by its own user")
    func comments() async throws {
        let (ann, ben) = (try await pins.signIn(), try await pins.signIn(ExampleData.ben))
        let list = Endpoint<[Comment]>.get("pins/1/comments").unwrapping("comments")
        #expect(try await pins.run(list, ann).map(\.comment_id) == [3, 2, 1])
        #expect(try await pins.run(list, ann).map(\.user.user_id) == [4, 3, 2])
        #expect(await pins.failure(of: Endpoint<NoContent>.delete("pins/1/comments/1"), ann)?.status == 403)
        _ = try await pins.run(Endpoint<NoContent>.delete("pins/1/comments/1"), ben)
        #expect(try await pins.run(list, ann).map(\.comment_id) == [3, 2])
        let empty = Endpoint<Comment>(.post, "pins/1/comments", parameters: ["text": ""])
        #expect(await pins.failure(of: empty, ann)?.localizedDescription == "text is missing")
    }

    @Test("fifty concurrent comments are fifty comments")
    func crowd() async throws {
        let token = try await pins.signIn()
        let ids = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<50 {
                group.addTask {
                    let said = Endpoint<Comment>(.post, "pins/2/comments", parameters: ["text": "No. \(number)"])
                    return try await pins.run(said, token).comment_id
                }
            }
            return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(ids.count == 50)
        #expect(try await pins.run(Endpoint<Pin>.get("pins/2"), token).comment_count == 50)
    }
}
