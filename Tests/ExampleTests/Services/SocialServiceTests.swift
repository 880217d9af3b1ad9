import Errand
import ErrandTesting
import ExampleServer
import ExampleServices
import Foundation
import Testing

@Suite("Social, over real HTTP") struct SocialServiceTests {
    private let server: ExampleServer
    private let client: APIClient
    private let service: Social.FriendsService

    init() throws {
        server = try ExampleServer { $0.requestLimit = nil }
        client = Social.client(
            ServerEnvironment(name: "social", baseURL: server.socialURL), appToken: ExampleData.applicationToken,
            user: ExampleData.ann.id, overTheWire)
        service = Social.FriendsService(client)
    }

    @Test("friends are listed, added, put into a category, listed by it, and removed")
    func friends() async throws {
        #expect(try await service.friends().map(\.id) == [2, 5, 6, 8])
        #expect(try await service.friends(in: "family").map(\.id) == [5, 8])
        #expect(try await service.add(3) == Social.User(id: 3, email: "cleo@example.com", name: "Cleo Cook"))
        try await service.put([3, 6], into: "family")
        #expect(try await service.friends(in: "family").map(\.id) == [5, 6, 8, 3])
        try await service.remove(5)
        #expect(try await service.friends().map(\.id) == [2, 6, 8, 3])
    }

    @Test("what is stored is there at once, then confirmed; after a change it is not shown any more")
    func atOnce() async throws {
        func kinds() async throws -> [CacheStatus.Kind?] {
            var kinds: [CacheStatus.Kind?] = []
            for try await reply in service.friendsAtOnce() { kinds.append(reply.cache?.kind) }
            return kinds
        }
        #expect(try await kinds() == [.miss])
        #expect(try await kinds() == [.stale, .revalidated])
        try await service.remove(5)
        #expect(try await kinds() == [.miss])
        #expect(try await service.friends().map(\.id) == [2, 6, 8])
    }

    @Test("the friends of another user are listed, all of them or a category, unless the list is private")
    func friendsOfOthers() async throws {
        #expect(try await service.friends(of: ExampleData.ben.id).map(\.id) == [1, 7])
        #expect(try await service.friends(of: ExampleData.ben.id, in: "family").isEmpty)
        #expect(try await service.friends(of: ExampleData.ann.id, in: "family").map(\.id) == [5, 8])
        let targets = server.received.map(\.target)
        #expect(targets[0].contains("user_id=2") && !targets[0].contains("user_id=1"))
        let closed = await failure { () async throws(ServiceError) in
            try await service.friends(of: ExampleData.shyUserID)
        }
        #expect(closed?.refusal?.status == 403)
        #expect(closed?.localizedDescription == "Dan Dyer shows the list to nobody")
    }

    @Test("a user without a number does not cost the others; the list counts how many were left out")
    func lossy() async throws {
        server.fail(.elementWithoutID, on: "/social/api/v1/friends")
        let friends = try await service.friends()
        #expect(friends.skippedCount == 1)
        #expect(friends.map(\.id) == [2, 5, 6, 8])
    }

    @Test("the common parameters go into the query of a GET and a DELETE, into the body of a POST and a PUT")
    func commonParameters() async throws {
        _ = try await service.friends()
        _ = try await service.add(3)
        try await service.put([3], into: "work")
        try await service.remove(3)
        let received = server.received
        #expect(received.map(\.method) == [.get, .post, .put, .delete])
        for request in received {
            let text = request.target + String(decoding: request.body, as: UTF8.self)
            #expect(text.contains("application_token") && text.contains("user_id"))
            #expect(request.target.contains("application_token") == [.get, .delete].contains(request.method))
            #expect(request.headers["Accept"]?.hasPrefix("application/json") == true)
        }
        #expect(received[1].headers["Content-Type"] == "application/json")
    }

    @Test("two servers at once: each client speaks to its own")
    func twoServers() async throws {
        let other = try ExampleServer { $0.requestLimit = nil }
        let elsewhere = Social.FriendsService(
            Social.client(
                ServerEnvironment(name: "other", baseURL: other.socialURL), appToken: ExampleData.applicationToken,
                user: ExampleData.ann.id, overTheWire))
        async let added = elsewhere.add(3)
        async let listed = service.friends()
        _ = try await (added, listed)
        #expect(try await service.friends().map(\.id) == [2, 5, 6, 8])
        #expect(try await elsewhere.friends().map(\.id) == [2, 5, 6, 8, 3])
    }

    @Test("what the server reports comes with its words: what is wrong with a value, and missing rights")
    func reported() async throws {
        let invalid = await failure { () async throws(ServiceError) in try await service.add(2) }
        #expect(invalid?.refusal?.status == 422)
        #expect(invalid?.localizedDescription.contains("Ben Baker is a friend already") == true)
        guard case .rejected(let rejection) = invalid else { throw try #require(invalid) }
        #expect(rejection.fieldErrors["friend_id"] == ["Ben Baker is a friend already"])

        let reader = Social.FriendsService(
            Social.client(
                ServerEnvironment(name: "social", baseURL: server.socialURL),
                appToken: ExampleData.readingApplicationToken,
                user: ExampleData.ann.id, overTheWire))
        let forbidden = await failure { () async throws(ServiceError) in try await reader.add(3) }
        #expect(forbidden?.refusal?.status == 403)
        #expect(forbidden?.refusal?.message == "This application may look, and change nothing")
    }

    @Test("other failures are reported by their kind: a crash, a page of HTML, a connection that breaks off")
    func unreported() async throws {
        let path = "/social/api/v1/friends"
        server.fail(.status(500, message: ""), on: path)
        server.fail(.html, on: path)
        // A GET on a kept connection that is reset is sent once more, on a new one.
        server.fail(.reset, next: 2, on: path)
        let load = { () async throws(ServiceError) in try await service.friends() }
        #expect(await failure(of: load)?.status == 500)
        let page = await failure(of: load)
        guard case .decodingFailed(let problem) = page else { throw try #require(page) }
        #expect(problem.description.contains("text/html"))
        let reset = await failure(of: load)
        guard case .transport(let broken) = reset else { throw try #require(reset) }
        #expect(broken.kind == .reset)
    }

    @Test("a load that is cancelled half-way closes its connection", arguments: [true, false])
    func cancelled(isHeadSent: Bool) async throws {
        let half = LoopbackReply.json(#"[{"id": 1}]"#).cut(.withinBody, by: .silence)
        server.loopback.on(.get, "/social/api/v1/friends", answering: { _ in isHeadSent ? half : .silence })
        let load = Task { await failure { () async throws(ServiceError) in try await service.friends() } }
        await server.loopback.received(atLeast: 1)
        load.cancel()
        #expect(await load.value == .cancelled)
        await server.loopback.connectionsClosed()
    }
}
