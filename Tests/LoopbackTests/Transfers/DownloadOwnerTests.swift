import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Whose bytes a part of a download are", .timeLimit(.minutes(10))) struct DownloadOwnerTests {
    private let server: LoopbackServer
    private let scratch: Scratch
    /// Whether each download breaks off after 1000 bytes, and gets no more.
    private let isBreaking = Noted(false)

    init() throws {
        server = try LoopbackServer()
        scratch = try Scratch()
        // Each caller gets other bytes, of the same length and with the same tag.
        server.onAny { [isBreaking] request in
            let reply = Self.file(for: Self.caller(of: request)).reply(to: request)
            guard isBreaking.value else { return reply }
            return request.headers["Range"] == nil ? reply.cut(.inBody(1000)) : .status(404)
        }
    }

    private var target: String { scratch.path("file") }
    private var downloaded: Data? { FileManager.default.contents(atPath: target) }
    private var record: String { get throws { try scratch.read("file.part.json") } }

    /// Everything by which this server distinguishes its callers.
    private static func caller(of request: LoopbackRequest) -> String {
        let headers = ["Authorization", "X-Tenant", "Accept", "Cookie"].map { request.headers[$0] ?? "" }
        let tenant = request.query.first { $0.name == "tenant" }?.value ?? ""
        return (headers + [tenant]).joined(separator: "\n")
    }

    private static func file(for caller: String) -> LoopbackFile {
        let mark = caller.utf8.reduce(0 as UInt8) { $0 &* 31 &+ $1 }
        return LoopbackFile(Data(DownloadScene.content(5000).map { $0 ^ mark }), headers: ["ETag": "\"1\""])
    }

    private func client(_ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        APIClient(server.baseURL) {
            $0.rateLimit = .unlimited
            $0.retry = RetryPolicy(attempts: 3, base: .zero)
            $0.timeout = .seconds(60)
            configure(&$0)
        }
    }

    private func breakOff(_ client: APIClient, _ endpoint: Endpoint<Data> = .get("file")) async throws {
        isBreaking.value = true
        await #expect(throws: ServiceError.self) { try await client.download(endpoint, to: target) }
        isBreaking.value = false
        #expect(FileManager.default.contents(atPath: target + ".part")?.count == 1000)
    }

    /// Expects that a download begins again, without a request for the rest, and receives the bytes of one caller.
    private func expectAnew(
        _ client: APIClient, _ endpoint: Endpoint<Data> = .get("file"), isCertainAtOnce: Bool = true
    ) async throws {
        let before = server.received.count
        let file = try await client.download(endpoint, to: target)
        let requests = server.received.dropFirst(before)
        #expect(!file.isResumed && requests.last?.headers["Range"] == nil)
        if isCertainAtOnce { #expect(requests.count == 1) }
        #expect(downloaded == (requests.last.map { Self.file(for: Self.caller(of: $0)).content }))
    }

    @Test("D15: who signs in after another user gets no byte of that user's part, although the tags are equal")
    func otherUser() async throws {
        let tokens = TokenStore(persistence: .memory) { $0 }
        let client = client { $0.tokens = tokens }
        await tokens.signIn(Token(accessToken: "ann"))
        try await breakOff(client)
        await tokens.signOut()
        await tokens.signIn(Token(accessToken: "bo"))
        try await expectAnew(client)
    }

    @Test("D15: a part whose session ends during the download is removed, also one that it has resumed")
    func endedSession() async throws {
        let tokens = TokenStore(persistence: .memory) { $0 }
        let client = client { $0.tokens = tokens }
        let head = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 5000\r\n\r\n"
        // In this order, because the route that breaks off is replaced.
        for isResumed in [true, false] {
            await tokens.signIn(Token(accessToken: "ann"))
            if isResumed { try await breakOff(client) }
            server.on(.get, "/file") { _ in
                let bytes = isResumed ? Data() : Data(head.utf8) + Data(count: 1000)
                return LoopbackReply([.write(bytes), .silence])
            }
            let before = server.received.count
            let download = Task { try await client.download(.get("file"), to: target) }
            await server.received(atLeast: before + 1)
            await tokens.signOut()
            await #expect(throws: ServiceError.sessionExpired(.init(.signedOut, mayHaveReachedServer: true))) {
                try await download.value
            }
            for name in [".part", ".part.json"] { #expect(!FileManager.default.fileExists(atPath: target + name)) }
        }
    }

    @Test("D15: who has other cookies in the jar gets no byte of the part; who has the same goes on")
    func otherCookies() async throws {
        server.on(.get, "/login") { request in
            let name = request.query.first { $0.name == "name" }?.value ?? ""
            return .json("1", headers: ["Set-Cookie": "user=\(name)"])
        }
        func client(of name: String) async throws -> APIClient {
            let client = self.client { $0.cookies = CookieJar() }
            _ = try await client.run(Endpoint<Int>.get("login", query: ["name": name]))
            return client
        }
        try await breakOff(try await client(of: "ann"))
        try await expectAnew(try await client(of: "bo"), isCertainAtOnce: false)
        try FileManager.default.removeItem(atPath: target)
        try await breakOff(try await client(of: "ann"))
        let file = try await client(of: "ann").download(.get("file"), to: target)
        let last = try #require(server.received.last)
        #expect(file.isResumed && last.headers["Cookie"] == "user=ann")
        #expect(downloaded == Self.file(for: Self.caller(of: last)).content)
    }

    @Test("D15: without a session, and with one, are two callers", arguments: [true, false])
    func withAndWithout(isFirstSigned: Bool) async throws {
        let tokens = TokenStore(persistence: .memory) { $0 }
        await tokens.signIn(Token(accessToken: "ann"))
        let (signed, unsigned) = (client { $0.tokens = tokens }, client())
        try await breakOff(isFirstSigned ? signed : unsigned)
        try await expectAnew(isFirstSigned ? unsigned : signed)
    }

    @Test("D4, D15: the same session goes on in another process, also with a token that was refreshed since")
    func sameSession() async throws {
        // The bytes do not depend on the token here, only on the user.
        let file = LoopbackFile(DownloadScene.content(5000))
        server.on(.get, "/own") { [isBreaking] request in
            guard isBreaking.value else { return file.reply(to: request) }
            return request.headers["Range"] == nil ? file.reply(to: request).cut(.inBody(1000)) : .status(404)
        }
        func store() -> TokenStore {
            TokenStore(persistence: .file(scratch.path("session"))) { _ in Token(accessToken: "2") }
        }
        let first = store()
        await first.signIn(Token(accessToken: "1", refreshToken: "r"))
        try await breakOff(client { $0.tokens = first }, .get("own"))
        _ = try await first.replacement(for: Token(accessToken: "1"))
        let second = store()
        let result = try await client { $0.tokens = second }.download(.get("own"), to: target)
        #expect(result.resumedAfter == 1000 && downloaded == file.content)
        #expect(server.received.last?.headers["Authorization"] == "Bearer 2")
    }

    /// What distinguishes two callers of a server, beside the session.
    enum Mark: CaseIterable {
        case tenant, accept, authorization, cookie, common, eachCall, commonParameter
        /// A middleware adds it, so it is known only when it has been sent.
        case addedTenant, addedAuthorization
    }

    private struct Adding: Middleware {
        let field: HTTPHeaders.Field

        func intercept(
            _ request: HTTPRequest, _ context: CallContext, next: Next
        ) async throws -> HTTPResponse {
            var request = request
            request.headers[field.name] = field.value
            return try await next(request, context)
        }
    }

    private func client(adding name: String, _ value: String) -> APIClient {
        client { $0.attemptMiddlewares = [Adding(field: .init(name: name, value: value))] }
    }

    private func caller(_ name: String, by mark: Mark) -> (APIClient, Endpoint<Data>) {
        let endpoint = Endpoint<Data>.get("file")
        return switch mark {
        case .tenant: (client(), endpoint.header("X-Tenant", name))
        case .accept: (client(), endpoint.header("Accept", "text/\(name)"))
        case .authorization: (client(), endpoint.header("Authorization", "Basic \(name)"))
        case .cookie: (client(), endpoint.header("Cookie", "sid=\(name)"))
        case .common: (client { $0.headers = ["X-Tenant": name] }, endpoint)
        case .eachCall: (client { $0.headersForEachCall = { ["X-Tenant": name] } }, endpoint)
        case .commonParameter: (client { $0.parameters = ["tenant": name] }, endpoint)
        case .addedTenant: (client(adding: "X-Tenant", name), endpoint)
        case .addedAuthorization: (client(adding: "Authorization", "Basic \(name)"), endpoint)
        }
    }

    @Test("D15: a header that may choose the answer belongs to the part", arguments: Mark.allCases)
    func marks(mark: Mark) async throws {
        let (ann, endpoint) = caller("ann", by: mark)
        try await breakOff(ann, endpoint)
        let (bo, other) = caller("bo", by: mark)
        try await expectAnew(bo, other, isCertainAtOnce: ![.addedTenant, .addedAuthorization].contains(mark))
        try FileManager.default.removeItem(atPath: target)
        try await breakOff(ann, endpoint)
        #expect(try await ann.download(endpoint, to: target).resumedAfter == 1000)
        #expect(downloaded == (server.received.last.map { Self.file(for: Self.caller(of: $0)).content }))
    }

    /// What differs from one request to the next, and chooses nothing.
    enum Passing: CaseIterable { case requestID, key, agent, ownID, ownParameter, trace, timestamp }

    private func client(with passing: Passing, _ number: Int) -> APIClient {
        client {
            switch passing {
            case .requestID: $0.headersForEachCall = { ["X-Request-ID": "\(number)"] }
            case .key: break
            case .agent: $0.headers = ["User-Agent": "App/\(number)"]
            case .ownID: $0.headersForEachCall = { ["X-Own": UUID().uuidString] }
            case .ownParameter: $0.parametersForEachCall = { ["own": UUID().uuidString] }
            case .trace:
                $0.attemptMiddlewares = [Adding(field: .init(name: "traceparent", value: "00-\(number)-1-00"))]
            case .timestamp: $0.parametersForEachCall = { ["timestamp": number] }
            }
        }
    }

    @Test("D15: what differs in each call, such as its identifier, does not", arguments: Passing.allCases)
    func passing(passing: Passing) async throws {
        let endpoint = Endpoint<Data>.get("file")
        let sent = passing == .key ? endpoint.idempotencyKey(.unique) : endpoint
        try await breakOff(client(with: passing, 1), sent)
        #expect(try await client(with: passing, 2).download(sent, to: target).resumedAfter == 1000)
        #expect(downloaded == (server.received.last.map { Self.file(for: Self.caller(of: $0)).content }))
    }

    @Test(
        "D15: a header that `Vary` names chooses the answer, whichever it is", arguments: ["User-Agent", "*", "Origin"])
    func varied(by name: String) async throws {
        let file = LoopbackFile(
            DownloadScene.content(5000), headers: ["ETag": "\"1\"", "Vary": "Accept-Encoding, \(name)"])
        server.on(.get, "/varied") { [isBreaking] request in
            guard isBreaking.value else { return file.reply(to: request) }
            return request.headers["Range"] == nil ? file.reply(to: request).cut(.inBody(1000)) : .status(404)
        }
        try await breakOff(client(with: .agent, 1), .get("varied"))
        let result = try await client(with: .agent, 2).download(.get("varied"), to: target)
        #expect(result.isResumed == (name == "Origin"))
        #expect(downloaded == file.content)
    }

    @Test("D15: a tenant that changes between two attempts begins again")
    func changedBetweenAttempts() async throws {
        let tenant = Noted("ann")
        let client = client { $0.headersForEachCall = { ["X-Tenant": tenant.value] } }
        let count = Noted(0)
        server.on(.get, "/file") { request in
            count.update { $0 += 1 }
            let reply = Self.file(for: Self.caller(of: request)).reply(to: request)
            guard count.value < 3 else { return reply }
            if count.value == 2 { tenant.value = "bo" }
            return reply.cut(.inBody(1000))
        }
        try await client.download(.get("file"), to: target)
        let last = try #require(server.received.last)
        #expect(last.headers["X-Tenant"] == "bo" && downloaded == Self.file(for: Self.caller(of: last)).content)
        #expect(server.received.map { $0.headers["Range"] } == [nil, "bytes=1000-", nil])
    }

    @Test("D15: the record beside a part names neither the session nor a header, and no two are alike")
    func secrets() async throws {
        let tokens = TokenStore(persistence: .file(scratch.path("session"))) { $0 }
        await tokens.signIn(Token(accessToken: "t0k3n"))
        let saved = try await FileTokenPersistence(path: scratch.path("session")).load()
        let session = try #require(saved?.id.uuidString)
        let client = client {
            $0.tokens = tokens
            $0.headers = ["X-Tenant": "acme"]
        }
        try await breakOff(client)
        let first = try record
        for word in [session, session.lowercased(), "acme", "enant", "t0k3n", "127.0.0.1"] {
            #expect(!first.contains(word))
        }
        try FileManager.default.removeItem(atPath: target + ".part")
        try await breakOff(client)
        let second = try record
        // The same tenant and the same file, and nothing to see it by.
        func hashes(_ text: String) -> Set<String> {
            Set(text.split { !$0.isHexDigit }.map(String.init).filter { $0.count > 16 })
        }
        #expect(hashes(first).count >= 2 && hashes(first).isDisjoint(with: hashes(second)))
    }
}
