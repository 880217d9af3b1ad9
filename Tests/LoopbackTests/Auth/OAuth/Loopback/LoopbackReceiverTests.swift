import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite("OAuth: the receiver on this machine", .timeLimit(.minutes(10)))
struct LoopbackReceiverTests {
    /// A receiver that waits for an answer with the state `good`.
    private struct Scene {
        let receiver: LoopbackReceiver
        let port: Int
        let answer: Task<Result<String, ServiceError>, Never>

        init(_ uri: String = "http://127.0.0.1/back", limits: ReceiverLimits = .init()) throws {
            let receiver = try LoopbackReceiver(uri, limits: limits)
            self.receiver = receiver
            port = try #require(URLComponents(string: receiver.redirectURI)?.port)
            answer = Task {
                await Result { () async throws(ServiceError) in
                    try await receiver.answer { $0.hasSuffix("state=good") }
                }
            }
        }

        /// Sends a request and returns the response.
        func ask(_ line: String, host: String? = nil) async throws -> String {
            let connection = try #require(RawConnection(port))
            connection.send("\(line) HTTP/1.1\r\nHost: \(host ?? "127.0.0.1:\(port)")\r\nAccept: */*\r\n\r\n")
            return try #require(await connection.readAll())
        }

        /// Sends the answer, and checks that nothing listens after it.
        func finish() async throws {
            let listener = try #require(Listener(port))
            let page = try await ask("GET /back?code=x&state=good")
            #expect(page.hasPrefix("HTTP/1.1 200 OK\r\n") && page.hasSuffix("</html>"))
            #expect(page.contains("Cache-Control: no-store") && page.contains("Referrer-Policy: no-referrer"))
            #expect(try await answer.value.get() == "http://127.0.0.1:\(port)/back?code=x&state=good")
            #expect(!listener.isOpen)
        }
    }

    @Test("S5: one request with the answer gets a page and ends it; the port is free then")
    func answer() async throws {
        let (one, two) = (try Scene(), try Scene())
        #expect(one.port != two.port && one.port > 1023)
        #expect(one.receiver.redirectURI == "http://127.0.0.1:\(one.port)/back")
        try await one.finish()
        try await two.finish()
    }

    @Test(
        "S5: requests of others change nothing: another path, method or host, no state, no HTTP",
        arguments: [
            ("GET /?code=x&state=good", nil), ("GET /favicon.ico", nil), ("GET /back", nil),
            ("GET /back?code=x&state=bad", nil), ("POST /back?code=x&state=good", nil),
            ("HEAD /back?code=x&state=good", nil), ("GET /back/?code=x&state=good", nil),
            ("GET /back?code=x&state=good", "evil.test"), ("GET /back?code=x&state=good", "127.0.0.1"),
            ("GET /back?code=x&state=good", "localhost"), ("GET /back?code=x&state=good", "127.0.0.1:1\r\nHost: x"),
            ("GET http://127.0.0.1/back?code=x&state=good", nil), ("nonsense", nil), ("", nil), ("\r\n\r\n", nil),
        ] as [(String, String?)])
    func strangers(line: String, host: String?) async throws {
        let scene = try Scene()
        let page = try await scene.ask(line, host: host)
        #expect(page.hasPrefix("HTTP/1.1 404 Not Found\r\n"))
        #expect(!page.contains("good") && !page.contains("evil"))
        try await scene.finish()
    }

    @Test("S5: a request that is too large, one that never ends, and more connections than it takes")
    func bounds() async throws {
        var limits = ReceiverLimits()
        (limits.connections, limits.connectionTimeout) = (4, .seconds(3600))
        let scene = try Scene(limits: limits)
        let large = try #require(RawConnection(scene.port))
        large.send("GET /back?" + String(repeating: "x", count: limits.head))
        #expect(await large.readAll()?.hasPrefix("HTTP/1.1 431") == true)
        // The oldest of those that say nothing make room for the others.
        let silent = try (0..<40).map { _ in try #require(RawConnection(scene.port)) }
        for connection in silent.prefix(30) { #expect(await connection.readAll() == "") }
        try await scene.finish()
        var hasty = limits
        hasty.connectionTimeout = .milliseconds(20)
        let second = try Scene(limits: hasty)
        let slow = try #require(RawConnection(second.port))
        slow.send("GET /back?")
        #expect(await slow.readAll() == "")
        second.answer.cancel()
        #expect(await second.answer.value == .failure(.cancelled))
    }

    @Test("S5: an answer in pieces, while others stay silent or have gone")
    func pieces() async throws {
        let scene = try Scene()
        let silent = try #require(RawConnection(scene.port))
        _ = RawConnection(scene.port)
        let connection = try #require(RawConnection(scene.port))
        for byte in "GET /back?code=x&state=good HTTP/1.1\r\nhost:127.0.0.1:\(scene.port)\r\n\r\n" {
            connection.send(String(byte))
        }
        #expect(await connection.readAll()?.hasPrefix("HTTP/1.1 200") == true)
        #expect(try await scene.answer.value.get().hasSuffix("state=good"))
        #expect(await silent.readAll() == "")
    }

    @Test("S5: cancellation ends it at once, and the port is free then")
    func cancelled() async throws {
        let scene = try Scene()
        let open = try #require(RawConnection(scene.port))
        let listener = try #require(Listener(scene.port))
        scene.answer.cancel()
        #expect(await scene.answer.value == .failure(.cancelled))
        #expect(!listener.isOpen)
        #expect(await open.readAll() == "")
    }

    @Test("S5: a fixed port, `localhost` and `[::1]` on request; a port in use and other hosts are errors")
    func places() async throws {
        let first = try Scene()
        #expect(throws: ServiceError.self) { try LoopbackReceiver("http://127.0.0.1:\(first.port)/") }
        first.answer.cancel()
        #expect(await first.answer.value == .failure(.cancelled))
        // Others may have taken the port by now.
        if let fixed = try? Scene("http://127.0.0.1:\(first.port)/back") {
            #expect(fixed.port == first.port)
            try await fixed.finish()
        }
        for uri in ["http://example.com/", "https://127.0.0.1/", "http://0.0.0.0/", "http://127.0.0.1/?x", "x:/y", ""] {
            #expect(throws: ServiceError.self) { try LoopbackReceiver(uri) }
        }
        let named = try Scene("http://localhost/back")
        let page = try await named.ask("GET /back?state=good", host: "localhost:\(named.port)")
        #expect(page.hasPrefix("HTTP/1.1 200"))
        // Not every machine has IPv6.
        guard let six = try? Scene("http://[::1]/back") else { return }
        let connection = try #require(RawConnection(six.port, isIPv6: true))
        #expect(Listener(six.port, isIPv6: true)?.isLocal != false)
        connection.send("GET /back?state=good HTTP/1.1\r\nHost: [::1]:\(six.port)\r\n\r\n")
        #expect(await connection.readAll()?.hasPrefix("HTTP/1.1 200") == true)
        #expect(try await six.answer.value.get() == "http://[::1]:\(six.port)/back?state=good")
    }

    @Test("S5: the port of `localhost` has to be free at both addresses: the browser may choose either")
    func bothAddresses() async throws {
        guard let six = try? LoopbackReceiver("http://[::1]/back") else { return }
        let port = try #require(URLComponents(string: six.redirectURI)?.port)
        #expect(throws: ServiceError.self) { try LoopbackReceiver("http://localhost:\(port)/back") }
        // A port that the system chooses is another one then.
        let others = try (0..<50).map { _ in try LoopbackReceiver("http://localhost/back") }
        let ports = Set(others.compactMap { URLComponents(string: $0.redirectURI)?.port })
        #expect(ports.count == 50 && !ports.contains(port))
    }

    @Test("S5: a request with the cookies of all ports of this machine is not too large")
    func cookies() async throws {
        let scene = try Scene()
        let connection = try #require(RawConnection(scene.port))
        let cookies = String(repeating: "x", count: 50_000)
        connection.send(
            "GET /back?state=good HTTP/1.1\r\nHost: 127.0.0.1:\(scene.port)\r\nCookie: a=\(cookies)\r\n\r\n")
        #expect(await connection.readAll()?.hasPrefix("HTTP/1.1 200") == true)
        #expect(try await scene.answer.value.get().hasSuffix("state=good"))
    }

    @Test(
        "S5: the page tells how the sign-in has ended, when it has",
        arguments: [(true, "You are signed in"), (false, "You are not signed in"), (nil, "goes on in the program")])
    func told(hasSucceeded: Bool?, text: String) async throws {
        var limits = ReceiverLimits()
        if hasSucceeded == nil { limits.result = .milliseconds(20) }
        let receiver = try LoopbackReceiver("http://127.0.0.1/back", limits: limits)
        let port = try #require(URLComponents(string: receiver.redirectURI)?.port)
        let outcome = SignInOutcome()
        async let answer = receiver.answer(isAnswer: { $0.hasSuffix("state=good") }, telling: outcome)
        let listener = try #require(Listener(port))
        let connection = try #require(RawConnection(port))
        connection.send("GET /back?state=good HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
        // The program has the answer before the browser has a page.
        #expect(try await answer.hasSuffix("state=good"))
        if let hasSucceeded { await outcome.end(hasSucceeded: hasSucceeded) }
        let page = try #require(await connection.readAll())
        #expect(page.hasPrefix("HTTP/1.1 200") && page.contains(text))
        if hasSucceeded == nil { await outcome.end(hasSucceeded: true) }
        #expect(!listener.isOpen)
    }

    @Test("a pasted line that is the address of the redirect is the answer; other lines change nothing")
    func pasted() async throws {
        let told = Noted<[String]>([])
        for text in ["nonsense\n\n  http://x?state=good  \n", "http://x?state=good\r\nmore"] {
            let pipe = Pipe()
            let receiver = try LoopbackReceiver("http://127.0.0.1/", input: pipe.fileHandleForReading.fileDescriptor)
            try pipe.fileHandleForWriting.write(contentsOf: Data(text.utf8))
            let address = try await receiver.answer {
                $0.hasSuffix("state=good")
            } tell: { line in
                told.update { $0.append(line) }
            }
            #expect(address == "http://x?state=good")
            try pipe.fileHandleForReading.close()
        }
        #expect(told.value == ["That is not the address of this sign-in."])
        // At the end of the input, the browser may still answer.
        let pipe = Pipe()
        let receiver = try LoopbackReceiver("http://127.0.0.1/b", input: pipe.fileHandleForReading.fileDescriptor)
        try pipe.fileHandleForWriting.close()
        async let answer = receiver.answer { $0.hasSuffix("good") }
        let port = try #require(URLComponents(string: receiver.redirectURI)?.port)
        let connection = try #require(RawConnection(port))
        connection.send("GET /b?good HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
        #expect(await connection.readAll()?.hasPrefix("HTTP/1.1 200") == true)
        #expect(try await answer.hasSuffix("/b?good"))
        try pipe.fileHandleForReading.close()
    }

    @Test("a whole sign-in through the receiver: the page is announced and opened, and its address leads back to it")
    func system() async throws {
        let server = AuthorizationServer()
        let network = ScriptedTransport()
        server.serve(on: network)
        let oauth = try await OAuth.discover(server.issuer, client: .public(id: "app")) { $0.transport = network }
        let announced = Noted<[String]>([])
        let opened = Promise<String, ServiceError>()
        let browser = SystemBrowser(redirectURI: "http://127.0.0.1/back") { address in
            announced.update { $0.append(address) }
        } open: { address in
            opened.complete(.success(address))
        }
        async let token = oauth.signIn(using: browser)
        let address = try await opened.value()
        let redirect = try #require(URLComponents(string: try server.visit(address)))
        let client = APIClient("http://127.0.0.1:\(try #require(redirect.port))")
        let page = try await client.run(Endpoint<String>.get(url: try #require(redirect.string)))
        #expect(page.contains("You are signed in"))
        #expect(try await token.accessToken == "access-2")
        #expect(announced.value == [address])
    }

    @Test("S5: a sign-in that ends at its limit leaves nothing that listens")
    func limit() async throws {
        let (clock, network) = (TestClock(), ScriptedTransport())
        let server = AuthorizationServer(time: clock)
        server.serve(on: network)
        let oauth = try await OAuth.discover(server.issuer, client: .public(id: "app")) {
            $0.transport = network
            $0.time = clock
        }
        let opened = Promise<String, ServiceError>()
        let browser = SystemBrowser { _ in
        } open: { address in
            opened.complete(.success(address))
        }
        let signIn = Task {
            await failure { () async throws(ServiceError) in
                try await oauth.signIn(using: browser, within: .seconds(90))
            }
        }
        let redirect = try #require(parameters(of: try await opened.value())["redirect_uri"])
        let port = try #require(URLComponents(string: redirect)?.port)
        let listener = try #require(Listener(port))
        #expect(listener.isLocal != false)
        await clock.advance(by: .seconds(90))
        #expect(await signIn.value == .timedOut(Timeout(.signIn, limit: .seconds(90), phase: .preparing)))
        #expect(!listener.isOpen)
    }

    @Test("the system's opener gets the address as one word, which no shell reads", .enabled(if: Self.isLinux))
    func opener() async throws {
        #if os(Linux)
        let scratch = FileManager.default.temporaryDirectory.appending(path: "opener-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: scratch) }
        let (program, said) = (scratch.appending(path: "xdg-open"), scratch.appending(path: "said"))
        #expect(mkfifo(said.path, 0o600) == 0)
        try "#!/bin/sh\nprintf '%s|' \"$@\" > \(said.path)\n".write(to: program, atomically: true, encoding: .utf8)
        #expect(chmod(program.path, 0o700) == 0)
        let address = "https://login.test/?a=$(touch x)&b='\"; c `d` \\"
        SystemOpener.open(address, path: "\(scratch.path):/usr/bin:/bin")
        let text = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let bytes = try? FileHandle(forReadingFrom: said).readToEnd()
                continuation.resume(returning: bytes.map { String(decoding: $0, as: UTF8.self) })
            }
        }
        #expect(text == "\(address)|")
        #endif
    }

    private static var isLinux: Bool {
        #if os(Linux)
        true
        #else
        false
        #endif
    }
}
