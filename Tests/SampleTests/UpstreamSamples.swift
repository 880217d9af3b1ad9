import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// The clients of the signed-in users. They share a limiter and, on Linux, their connections.
actor Accounts {
    private var clients: [User.ID: APIClient] = [:]
    private let login: APIClient
    private let shared: Configuration
    private let folder: String

    init(login: APIClient, shared: Configuration, folder: String) {
        (self.login, self.shared, self.folder) = (login, shared, folder)
    }

    func client(of user: User.ID) -> APIClient {
        if let client = clients[user] { return client }
        let login = login
        var configuration = shared
        configuration.tokens = TokenStore(persistence: .file("\(folder)/\(user)"), time: shared.time) { old in
            try await login.run(.refresh(old)).token
        }
        let client = APIClient(configuration)
        clients[user] = client
        return client
    }

    func remove(_ user: User.ID) async {
        guard let client = clients.removeValue(forKey: user) else { return }
        await client.shutdown()
        await client.configuration.tokens?.waitUntilSaved()
    }
}

/// The response of your web framework.
protocol ServerResponse: Sendable {
    func begin(status: Int, type: String?) async throws
    func write(_ chunk: Data) async throws
}

private struct Proxy {
    let origin: APIClient

    func passOn(_ id: Int, to response: some ServerResponse) async throws {
        let video = try await origin.stream(.get("videos/\(id)"))
        try await response.begin(status: video.status, type: video.headers["Content-Type"])
        for try await chunk in video.chunks { try await response.write(chunk) }
    }
}

private struct Page {
    let client: APIClient

    func friendsOrNone(of id: User.ID) async throws(ServiceError) -> [User] {
        do throws(ServiceError) {
            return try await client.run(.friends(of: id).deadline(.milliseconds(800)))
        } catch {
            guard error.isTransient else { throw error }
            return []
        }
    }
}

@Suite("On a server", .timeLimit(.minutes(10)))
struct UpstreamSamples {
    private let network = scripted()

    @Test("a fallback for what may pass, and for nothing else")
    func fallback() async throws {
        let clock = TestClock()
        let page = Page(client: testClient(network, clock))
        network.on(.get, "/users/7/friends", .silence, .status(404))
        let friends = try await clock.run { try await page.friendsOrNone(of: 7) }
        #expect(friends.isEmpty && clock.elapsed == .milliseconds(800))
        let error = await #expect(throws: ServiceError.self) { try await page.friendsOrNone(of: 7) }
        #expect(error?.status == 404)
    }

    private actor Written: ServerResponse {
        private(set) var head: (status: Int, type: String?)?
        private(set) var body = Data()

        func begin(status: Int, type: String?) throws { head = (status, type) }
        func write(_ chunk: Data) throws { body += chunk }
    }

    @Test("a server passes a stream on")
    func passedOn() async throws {
        network.on(.get, "/videos/7", .chunks([Data("frames".utf8)], headers: ["Content-Type": "video/mp4"]))
        let answer = Written()
        try await Proxy(origin: testClient(network)).passOn(7, to: answer)
        #expect(await answer.head?.status == 200)
        #expect(await answer.head?.type == "video/mp4")
        #expect(await answer.body == Data("frames".utf8))
    }

    @Test("each user has a store, and all share a limiter")
    func accounts() async throws {
        network.on(.get, "/friends", .json("[]").times(2))
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let clock = TestClock()
        let limiter = RateLimiter(.requests(2, per: .seconds(1)), time: clock)
        var shared = testClient(network, clock).configuration
        shared.limiter = limiter
        let accounts = Accounts(login: testClient(network, clock), shared: shared, folder: folder.path)
        for user in [1, 2] {
            let client = await accounts.client(of: user)
            await client.configuration.tokens?.signIn(Token(accessToken: "token \(user)"))
            try await client.run(.friends)
        }
        #expect(network.sent.map { $0.request.headers["Authorization"] } == ["Bearer token 1", "Bearer token 2"])
        #expect(limiter.snapshot.available == 0)
        #expect(await accounts.client(of: 1) === accounts.client(of: 1))
        await accounts.remove(1)
        #expect(await accounts.client(of: 1).configuration.tokens?.isSignedIn == true)
    }

    @Test("the token of an incoming request is passed on")
    func passingToken() async throws {
        network.on(.get, "/friends", .json("[]"))
        let client = testClient(network) { $0.tokens = TokenStore { $0 } }
        let authorization = "Bearer incoming"
        let friends = try await client.run(.friends.header("Authorization", authorization))
        #expect(friends.isEmpty)
        #expect(network.sent.first?.request.headers["Authorization"] == authorization)
    }

    @Test("a client lets its calls finish, or cancels them in the end")
    func draining() async throws {
        let clock = TestClock()
        network.on(.get, "/friends", ScriptedReply.json("[]").after(.seconds(1)), .silence)
        let client = testClient(network, clock)
        let finishing = Task { try await client.run(.friends) }
        await network.sent(atLeast: 1)
        let hanging = Task { try await client.run(.friends) }
        await network.sent(atLeast: 2)
        let ending = Task {
            await client.shutdown(within: .seconds(10))
        }
        // The response that is to come, the one that never does, and the end of the shutdown.
        await clock.sleepers(atLeast: 3)
        await clock.advance(by: .seconds(11))
        await ending.value
        #expect(try await finishing.value.isEmpty)
        await #expect(throws: ServiceError.cancelled) { try await hanging.value }
    }

    private func upstream() -> APIClient {
        let billing = APIClient("http://billing.internal:8080") {
            $0.allowsCleartext = true  // plain http; calls with a token are refused all the same
            $0.rateLimit = .unlimited  // or the limit of that service
            $0.deadline = .seconds(5)
            $0.responseByteLimit = 1 << 20
        }
        return billing
    }

    private func meshed(_ tokens: TokenStore) -> APIClient {
        let orders = APIClient("http://orders.default.svc") {
            $0.tokens = tokens
            $0.cleartextHosts = ["orders.default.svc"]
        }
        return orders
    }

    #if os(Linux)
    private func wide() -> APIClient {
        var options = CurlTransport.Options()
        options.connectionsPerOrigin = 256
        let transport = CurlTransport(options)  // yours to shut down
        let search = APIClient("https://search.internal") { $0.transport = transport }
        return search
    }

    private func local() -> APIClient {
        var options = CurlTransport.Options()
        options.unixSocket = "/run/orders/http.sock"
        let orders = APIClient("http://localhost") { $0.transport = CurlTransport(options) }
        return orders
    }

    private func check() {
        print("libcurl:", CurlTransport.libraryVersion ?? "none")
    }
    #endif
}
