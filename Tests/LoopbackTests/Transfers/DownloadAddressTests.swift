import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("The address and the session of a download", .timeLimit(.minutes(10))) struct DownloadAddressTests {
    @Test("D8: a closure is asked for each attempt; an address that has expired is replaced, and no byte is lost")
    func expired() async throws {
        let scene = try DownloadScene()
        let valid = Noted(1)
        scene.server.on(.get, "/app.zip") { [file = scene.file] request in
            guard request.query.first?.value == "\(valid.value)" else { return .status(403) }
            let reply = file.reply(to: request)
            guard valid.value < 4 else { return reply }
            // The address expires with the connection; the third one, before it is used.
            valid.update { $0 += 1 }
            return reply.cut(.inBody(10_000))
        }
        let asked = Noted(0)
        let file = try await scene.client.download(
            asking: {
                asked.update { $0 += 1 }
                // The first time that it is asked again, the signature is an old one.
                let signature = asked.value == 2 ? 1 : valid.value
                return .get("app.zip", query: ["signature": signature])
            }, to: scene.target)
        #expect(scene.downloaded == scene.file.content)
        #expect(file.attempts == 5 && asked.value == 5)
        #expect(scene.ranges == [nil, "bytes=10000-", "bytes=10000-", "bytes=20000-", "bytes=30000-"])
        #expect(scene.server.received.map { $0.query.first?.value } == ["1", "1", "2", "3", "4"])
    }

    @Test("D8: another process goes on with another signature, but not at another path")
    func laterDownload() async throws {
        let scene = try DownloadScene()
        let left = Noted(0)
        scene.server.onAny { [file = scene.file] request in
            left.update { $0 -= 1 }
            // It breaks off, and refuses all three attempts to go on.
            switch left.value {
            case 3: return file.reply(to: request).cut(.inBody(1000))
            case 0..<3: return .status(403)
            default: return file.reply(to: request)
            }
        }
        func download(_ path: String, _ signature: Int) async throws -> DownloadedFile {
            try await scene.client.download(
                asking: { .get(url: "\(scene.server.baseURL)/\(path)?signature=\(signature)") }, to: scene.target)
        }
        left.value = 4
        await #expect(throws: ServiceError.self) { try await download("a", 1) }
        #expect(try await download("a", 3).resumedAfter == 1000)
        left.value = 4
        await #expect(throws: ServiceError.self) { try await download("a", 4) }
        #expect(try await download("b", 5).resumedAfter == 0)
        #expect(scene.downloaded == scene.file.content)
    }

    @Test("an address that leads to another path on a later attempt is another file: the download begins again")
    func otherPath() async throws {
        let scene = try DownloadScene(5000)
        let other = LoopbackFile(Data(scene.file.content.map { ~$0 }))
        scene.server.on(.get, "/a") { [file = scene.file] in file.reply(to: $0).cut(.inBody(1000)) }
        scene.server.on(.get, "/b") { other.reply(to: $0) }
        let asked = Noted(0)
        let file = try await scene.client.download(
            asking: {
                asked.update { $0 += 1 }
                return asked.value == 1 ? .get("a") : .get("b", query: ["signature": asked.value])
            }, to: scene.target)
        #expect(scene.downloaded == other.content && file.attempts == 2)
        #expect(scene.ranges == [nil, nil])
    }

    @Test(
        "a redirect that leads elsewhere on a later attempt, or in a later download, leads to another file",
        arguments: [false, true])
    func otherRedirect(isLater: Bool) async throws {
        let scene = try DownloadScene(5000)
        let files = [scene.file, LoopbackFile(Data(scene.file.content.map { ~$0 }))]
        let (hops, last) = (Noted(0), isLater ? 4 : 2)
        scene.server.on(.get, "/latest") { _ in
            hops.update { $0 += 1 }
            return .redirect(to: "/releases/\(hops.value > last ? 1 : 0)?signature=\(hops.value)")
        }
        for (number, file) in files.enumerated() {
            scene.server.on(.get, "/releases/\(number)") { request in
                guard number == 0 else { return file.reply(to: request) }
                // Each download ends after a part, and the next one goes on with another signature.
                return isLater && hops.value % 2 == 0 ? .status(404) : file.reply(to: request).cut(.inBody(1000))
            }
        }
        for _ in 0..<(isLater ? 2 : 0) {
            await #expect(throws: ServiceError.self) {
                try await scene.client.download(.get("latest"), to: scene.target)
            }
        }
        try await scene.client.download(.get("latest"), to: scene.target)
        #expect(scene.downloaded == files[1].content)
        let ranges = scene.server.received.filter { $0.path != "/latest" }.map { $0.headers["Range"] }
        let expected = isLater ? [nil, 1000, 1000, 2000, 2000, nil] : [nil, 1000, 2000, nil]
        #expect(ranges == expected.map { $0.map { "bytes=\($0)-" } })
    }

    @Test("a refusal that comes at once is final, and so is an error of the closure")
    func refused() async throws {
        let scene = try DownloadScene()
        scene.server.on(.get, "/app.zip", .status(403).always)
        let asked = Noted(0)
        let error = await #expect(throws: ServiceError.self) {
            try await scene.client.download(
                asking: {
                    asked.update { $0 += 1 }
                    return .get("app.zip")
                }, to: scene.target)
        }
        #expect(error?.status == 403 && asked.value == 1)
        struct Own: Error {}
        let other = await #expect(throws: ServiceError.self) {
            try await scene.client.download(asking: { throw Own() }, to: scene.target)
        }
        guard case .transport(let failure) = other else { throw try #require(other) }
        #expect(failure.kind == .other && failure.message.contains("Own") && !failure.mayHaveReachedServer)
        let passed = await #expect(throws: ServiceError.self) {
            try await scene.client.download(asking: { throw ServiceError.signInRequired }, to: scene.target)
        }
        #expect(passed == .signInRequired)
        #expect(try scene.names == [])
    }

    @Test("D8: when the closure itself is refused after a break, the download ends, and what has come is kept")
    func refusedLater() async throws {
        let scene = try DownloadScene()
        scene.serve { reply, _ in reply.cut(.inBody(1000)) }
        scene.server.on(.get, "/address", .status(403).always)
        let asked = Noted(0)
        let error = await #expect(throws: ServiceError.self) {
            try await scene.client.download(
                asking: {
                    asked.update { $0 += 1 }
                    guard asked.value > 1 else { return .get("app.zip") }
                    return .get(url: try await scene.client.run(Endpoint<String>.get("address")))
                }, to: scene.target)
        }
        #expect(error?.status == 403 && asked.value == 2)
        #expect(scene.part == scene.file.content.prefix(1000))
    }

    @Test("a redirect to another server takes the range along, on each attempt anew")
    func redirected() async throws {
        let (scene, front) = (try DownloadScene(), try LoopbackServer())
        scene.serve { $1 < 3 ? $0.cut(.inBody(1000)) : $0 }
        let address = "\(scene.server.baseURL)/app.zip"
        front.on(.get, "/latest") { _ in .redirect(to: address) }
        let client = APIClient(front.baseURL) {
            $0.rateLimit = .unlimited
            $0.retry = RetryPolicy(attempts: 3, base: .zero)
        }
        try await client.download(.get("latest"), to: scene.target)
        #expect(scene.downloaded == scene.file.content)
        #expect(scene.ranges == [nil, "bytes=1000-", "bytes=2000-"] && front.received.count == 3)
    }

    @Test("T7: a download is bound to the session that began it: another user's token is never sent for its rest")
    func otherUser() async throws {
        let server = try LoopbackServer()
        let scratch = try Scratch()
        let tokens = TokenStore(persistence: .memory) { $0 }
        await tokens.signIn(Token(accessToken: "ann"))
        let file = LoopbackFile(DownloadScene.content(5000))
        let (arrived, goOn) = (AsyncStream.makeStream(of: Void.self), DispatchSemaphore(value: 0))
        server.on(.get, "/report") { request in
            guard request.headers["Range"] == nil else { return file.reply(to: request) }
            arrived.continuation.yield()
            // The connection breaks when somebody else has signed in.
            goOn.wait()
            return file.reply(to: request).cut(.inBody(1000))
        }
        let client = APIClient(server.baseURL) {
            $0.rateLimit = .unlimited
            $0.tokens = tokens
            $0.retry = RetryPolicy(attempts: 3, base: .zero)
        }
        let download = Task { try await client.download(.get("report"), to: scratch.path("report")) }
        for await _ in arrived.stream { break }
        await tokens.signIn(Token(accessToken: "bo"))
        goOn.signal()
        let error = await #expect(throws: ServiceError.self) { try await download.value }
        guard case .sessionExpired(let expiry) = error else { throw try #require(error) }
        #expect(expiry.reason == .otherSession)
        #expect(server.received.map { $0.headers["Authorization"] } == ["Bearer ann"])
    }

    @Test("T7: who signs in while the closure of a download is asked does not sign it: it ends with its session")
    func otherUserDuringQuestion() async throws {
        let scene = try DownloadScene()
        scene.serve()
        let tokens = TokenStore(persistence: .memory) { $0 }
        await tokens.signIn(Token(accessToken: "ann"))
        let client = APIClient(scene.server.baseURL) { $0.tokens = tokens }
        let error = await #expect(throws: ServiceError.self) {
            try await client.download(
                asking: {
                    await tokens.signOut()
                    await tokens.signIn(Token(accessToken: "bo"))
                    return .get("app.zip")
                }, to: scene.target)
        }
        guard case .sessionExpired = error else { throw try #require(error) }
        #expect(scene.server.received.isEmpty && scene.downloaded == nil)
    }

    @Test("T7: who signs in while a download waits for the disk does not sign it: it ends with its session")
    func otherUserOnSlowDisk() async throws {
        let scene = try DownloadScene()
        scene.serve()
        let tokens = TokenStore(persistence: .memory) { $0 }
        await tokens.signIn(Token(accessToken: "ann"))
        let (begun, news) = AsyncStream.makeStream(of: Void.self)
        let client = APIClient(scene.server.baseURL) { $0.tokens = tokens }
        let disk = await HeldPlace(scene.target)
        let download = Task {
            try await client.download(
                asking: {
                    news.yield()
                    return .get("app.zip")
                }, to: scene.target)
        }
        for await _ in begun { break }
        await tokens.signIn(Token(accessToken: "bo"))
        disk.release()
        let error = await #expect(throws: ServiceError.self) { try await download.value }
        guard case .sessionExpired = error else { throw try #require(error) }
        #expect(scene.server.received.isEmpty && scene.downloaded == nil)
    }

    @Test("T16: a download that no token of the store signs does not end with its session", arguments: [false, true])
    func unsigned(hasOwnToken: Bool) async throws {
        let scene = try DownloadScene(5000)
        let (arrived, goOn) = (AsyncStream.makeStream(of: Void.self), DispatchSemaphore(value: 0))
        scene.server.on(.get, "/app.zip") { [file = scene.file] request in
            arrived.continuation.yield()
            goOn.wait()
            return file.reply(to: request)
        }
        let tokens = TokenStore(persistence: .memory) { $0 }
        await tokens.signIn(Token(accessToken: "ann"))
        let client = APIClient(scene.server.baseURL) { $0.tokens = tokens }
        let download = Task {
            let endpoint = Endpoint<Data>.get("app.zip")
            return try await client.download(
                asking: {
                    hasOwnToken ? endpoint.header("Authorization", "Bearer own") : endpoint.authentication(.none)
                }, to: scene.target)
        }
        for await _ in arrived.stream { break }
        await tokens.signOut()
        goOn.signal()
        _ = try await download.value
        #expect(scene.downloaded == scene.file.content)
        #expect(scene.server.received.map { $0.headers["Authorization"] } == [hasOwnToken ? "Bearer own" : nil])
    }

    @Test("D15: a download ends when its user signs out, and what has come is removed")
    func signedOut() async throws {
        let scene = try DownloadScene()
        scene.serve { reply, _ in reply.cut(.inBody(1000), by: .silence) }
        let tokens = TokenStore(persistence: .memory) { $0 }
        await tokens.signIn(Token(accessToken: "ann"))
        let client = APIClient(scene.server.baseURL) { $0.tokens = tokens }
        let (begun, news) = AsyncStream.makeStream(of: Void.self)
        let download = Task {
            try await client.download(.get("app.zip"), to: scene.target) { _ in news.yield() }
        }
        for await _ in begun { break }
        await tokens.signOut()
        let error = await #expect(throws: ServiceError.self) { try await download.value }
        guard case .sessionExpired(let expiry) = error else { throw try #require(error) }
        #expect(expiry.reason == .signedOut)
        #expect(scene.part == nil)
    }

    @Test("the record beside a part names neither the address nor the token")
    func secrets() async throws {
        let scene = try DownloadScene()
        scene.serve { $1 == 1 ? $0.cut(.inBody(1000)) : .status(404) }
        let endpoint = Endpoint<Data>.get("app.zip", query: ["signature": "s3cr3t"]).header(
            "Authorization", "Bearer t0k3n")
        await #expect(throws: ServiceError.self) { try await scene.client.download(endpoint, to: scene.target) }
        #expect(try scene.names == ["app.zip.part", "app.zip.part.json"])
        let record = try scene.scratch.read("app.zip.part.json")
        for word in ["s3cr3t", "t0k3n", "127.0.0.1", "app.zip"] { #expect(!record.contains(word)) }
        #expect(record.contains("200000"))
        #expect(try scene.scratch.mode("app.zip.part") == 0o600 && scene.scratch.mode("app.zip.part.json") == 0o600)
    }
}
