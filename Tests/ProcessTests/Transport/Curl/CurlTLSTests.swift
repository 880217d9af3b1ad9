#if os(Linux)
@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Which certificates are trusted and which are not, with OpenSSL's own server.
@Suite(
    "TLS through libcurl", .enabled(if: Program.openssl.isInstalled, "openssl is not installed"),
    .timeLimit(.minutes(10)))
struct CurlTLSTests {
    private let authority: TestAuthority

    init() async throws {
        authority = try await TestAuthority()
    }

    private var trusting: CurlTransport.Options {
        var options = CurlTransport.Options()
        options.certificateAuthorities = authority.file
        // The proxies of the environment must not affect the tests.
        options.proxy = .none
        return options
    }

    /// Returns the outcome of a call, and the number of attempts.
    private func outcome(
        _ url: String, _ options: CurlTransport.Options
    ) async -> (result: Result<Reply<Data>, ServiceError>, attempts: Int) {
        let attempts = Counter()
        let client = APIClient(url) {
            $0.transport = CurlTransport(options)
            $0.rateLimit = .unlimited
            $0.attemptMiddlewares = [attempts]
            // Real time: a busy machine must not fail the test.
            $0.timeout = .seconds(60)
        }
        let result = await Result(of: { () async throws(ServiceError) in
            try await client.reply(to: Endpoint<Data>.get(""))
        })
        await client.shutdown()
        return (result, attempts.count.value)
    }

    private func failure(_ url: String, _ options: CurlTransport.Options) async throws -> TransportFailure {
        let outcome = await outcome(url, options)
        guard case .failure(.transport(let failure)) = outcome.result else {
            throw try #require(outcome.result.failure, "it was believed")
        }
        return failure
    }

    /// Returns why the configuration of a transport is refused.
    private func refusal(_ url: String, _ options: CurlTransport.Options) async throws -> String {
        let outcome = await outcome(url, options)
        guard case .failure(.invalidRequest(let invalid)) = outcome.result else {
            throw try #require(outcome.result.failure, "it was believed")
        }
        #expect(invalid.subject == .configuration && !invalid.mayHaveReachedServer)
        return invalid.reason
    }

    @Test(
        "certificates that take long to load are no flood: no connection is shut down because of them",
        .enabled(if: InstalledLibrary.noticesAlerts, InstalledLibrary.noticesNoAlert))
    func manyAuthorities() async throws {
        let server = try await TLSServer(authority.issue())
        let scratch = try Scratch()
        // Longer than the loop may work on an established connection; with a sanitizer, many times as long.
        let copies = String(repeating: try String(contentsOfFile: authority.file, encoding: .utf8), count: 800)
        try scratch.write(copies, to: "authorities.pem")
        var options = trusting
        options.certificateAuthorities = scratch.path("authorities.pem")
        let client = APIClient(server.url) {
            $0.transport = CurlTransport(options)
            $0.rateLimit = .unlimited
            $0.retry = .never
            // Real time: a busy machine must not fail the test.
            $0.timeout = .seconds(60)
        }
        try await withThrowingTaskGroup(of: Data.self) { group in
            for _ in 0..<8 { group.addTask { try await client.run(Endpoint<Data>.get("")) } }
            for try await page in group { #expect(!page.isEmpty) }
        }
        await client.shutdown()
    }

    // MARK: The server's certificate

    enum Refusal: CaseIterable {
        case expired, selfSigned, wrongHost, wrongPin, unknownAuthority
    }

    @Test(
        "C18, C30: a server with an invalid certificate is refused, once, with the reason",
        arguments: Refusal.allCases)
    func refused(_ refusal: Refusal) async throws {
        var options = trusting
        var certificate = try await authority.issue()
        switch refusal {
        case .expired:
            certificate = try await authority.issue(dates: TestAuthority.longAgo)
        case .selfSigned:
            certificate = try await authority.selfSigned()
        case .wrongHost:
            certificate = try await authority.issue(to: "other.test")
        case .wrongPin:
            options.pinnedPublicKeys = [Data(repeating: 7, count: 32).base64EncodedString()]
        case .unknownAuthority:
            options.certificateAuthorities = nil
        }
        let server = try await TLSServer(certificate)
        let outcome = await outcome(server.url, options)
        guard case .failure(.transport(let failure)) = outcome.result else {
            throw try #require(outcome.result.failure, "it was believed")
        }
        #expect(failure.kind == .untrustedCertificate)
        #expect(!failure.mayHaveReachedServer)
        #expect(!failure.message.isEmpty)
        #expect(outcome.attempts == 1)
    }

    @Test(
        "a server whose authority is trusted is believed; the time that TLS took is told",
        .enabled(if: InstalledLibrary.noticesAlerts, InstalledLibrary.noticesNoAlert))
    func trusted() async throws {
        let server = try await TLSServer(authority.issue())
        let reply = try await outcome(server.url, trusting).result.get()
        #expect(!reply.value.isEmpty)
        let timings = try #require(reply.timings)
        let (connected, encrypted) = (try #require(timings.connected), try #require(timings.encrypted))
        #expect(connected < encrypted && encrypted <= timings.firstByte)
        #expect(timings.httpVersion == "1.0")
    }

    @Test(
        "a new connection goes on with the TLS session of an earlier one",
        .enabled(if: InstalledLibrary.noticesAlerts, InstalledLibrary.noticesNoAlert),
        arguments: ["-tls1_2", "-tls1_3"])
    func resumed(version: String) async throws {
        // This server closes each connection, and its page tells whether the session is a new one.
        let server = try await TLSServer(authority.issue(), version)
        let client = APIClient(server.url) {
            $0.transport = CurlTransport(trusting)
            $0.rateLimit = .unlimited
            $0.timeout = .seconds(60)
        }
        var pages: [String] = []
        for _ in 0..<3 { pages.append(try await client.run(Endpoint<String>.get(""))) }
        #expect(pages.map { $0.contains("\nNew, TLS") } == [true, false, false])
        #expect(pages.map { $0.contains("\nReused, TLS") } == [false, true, true])
    }

    #if !URLSession
    @Test(
        "L5: the first connection of a second loop goes on with the TLS session of the first",
        .enabled(if: InstalledLibrary.noticesAlerts, InstalledLibrary.noticesNoAlert))
    func resumedElsewhere() async throws {
        let server = try await TLSServer(authority.issue(), "-tls1_3")
        let busy = try LoopbackServer()
        busy.onAny { _ in .silence }
        var options = trusting
        options.loops = 2
        let transport = CurlTransport(options)
        func client(_ url: String) -> APIClient {
            APIClient(url) {
                $0.transport = transport
                $0.rateLimit = .unlimited
                $0.timeout = .seconds(60)
            }
        }
        let (first, other) = (client(server.url), client(busy.baseURL))
        #expect(try await first.run(Endpoint<String>.get("")).contains("\nNew, TLS"))
        let hanging = (0..<CurlChoice.enough).map { _ in Task { try await other.run(Endpoint<String>.get("x")) } }
        await busy.received(atLeast: hanging.count)
        #expect(transport.activeByLoop == [CurlChoice.enough])
        #expect(try await first.run(Endpoint<String>.get("")).contains("\nReused, TLS"))
        #expect(transport.activeByLoop == [CurlChoice.enough, 0])
        for task in hanging { task.cancel() }
        await transport.shutdown()
    }
    #endif

    @Test(
        "a server whose key is one of those pinned is believed, if its certificate is good too",
        .enabled(if: InstalledLibrary.noticesAlerts, InstalledLibrary.noticesNoAlert))
    func pinned() async throws {
        let certificate = try await authority.issue()
        let server = try await TLSServer(certificate)
        var options = trusting
        options.pinnedPublicKeys = [Data(repeating: 7, count: 32).base64EncodedString(), try await certificate.pin]
        #expect(try await !outcome(server.url, options).result.get().value.isEmpty)
        options.certificateAuthorities = nil
        #expect(try await failure(server.url, options).kind == .untrustedCertificate)
    }

    @Test(
        "a pin that is no hash is named, and nothing is sent",
        arguments: ["", "hello", "sha256/x9SZw6TwIqfmvrLZ/kz1o0Ossjmn728BnBKpUFqGNVM=", "x9SZw6TwIqfmvrLZ"])
    func oddPin(pin: String) async throws {
        let certificate = try await authority.issue()
        let server = try await TLSServer(certificate)
        var options = trusting
        options.pinnedPublicKeys = [try await certificate.pin, pin]
        let reason = try await refusal(server.url, options)
        #expect(reason.contains("\"\(pin)\" is not a SHA-256 hash"), "\(reason)")
    }

    @Test(
        "a file of trusted certificates that is missing, or is none, is a mistake of the configuration, and is named",
        arguments: [nil, "", "no certificate"])
    func noAuthorities(content: String?) async throws {
        let server = try await TLSServer(authority.issue())
        let scratch = try Scratch()
        if let content { try scratch.write(content, to: "authority.pem") }
        var options = trusting
        options.certificateAuthorities = scratch.path("authority.pem")
        let reason = try await refusal(server.url, options)
        #expect(reason.contains(scratch.path("authority.pem")), "\(reason)")
    }

    // MARK: The client's certificate

    @Test(
        "a client presents its certificate to a server that asks for one; without it the handshake fails",
        .enabled(if: InstalledLibrary.noticesAlerts, InstalledLibrary.noticesNoAlert),
        arguments: ["-tls1_2", "-tls1_3"])
    func clientCertificate(version: String) async throws {
        let server = try await TLSServer(
            authority.issue(), version, "-Verify", "1", "-verify_return_error", "-CAfile", authority.file)
        let mine = try await authority.issue(to: "me")
        var options = trusting
        options.clientCertificate = .init(certificate: mine.file, key: mine.key)
        #expect(try await !outcome(server.url, options).result.get().value.isEmpty)
        let failure = try await failure(server.url, trusting)
        #expect(failure.kind == .tls, "\(failure.message)")
        #expect(!failure.mayHaveReachedServer)
    }

    @Test("a missing client certificate or key is named, and nothing is sent", arguments: [true, false])
    func noClientCertificate(isKeyMissing: Bool) async throws {
        let server = try await TLSServer(authority.issue())
        let mine = try await authority.issue(to: "me")
        var options = trusting
        options.clientCertificate = .init(
            certificate: isKeyMissing ? mine.file : "/nowhere/mine.pem",
            key: isKeyMissing ? "/nowhere/mine.pem" : mine.key)
        let reason = try await refusal(server.url, options)
        #expect(reason.contains("/nowhere/mine.pem"), "\(reason)")
    }

    @Test(
        "a client certificate that was removed since the first request is named, and is found when it is back",
        .enabled(if: InstalledLibrary.noticesAlerts, InstalledLibrary.noticesNoAlert))
    func removedClientCertificate() async throws {
        // The responses of its server end with the closing alert.
        let server = try await TLSServer(authority.issue())
        let mine = try await authority.issue(to: "me")
        let scratch = try Scratch()
        let (file, kept) = (scratch.path("mine.pem"), scratch.path("kept.pem"))
        try FileManager.default.copyItem(atPath: mine.file, toPath: file)
        var options = trusting
        options.clientCertificate = .init(certificate: file, key: mine.key)
        let transport = CurlTransport(options)
        let request = HTTPRequest(method: .get, url: try HTTPURL(server.url))
        _ = try await transport.send(request, context: TransportContext())
        try FileManager.default.moveItem(atPath: file, toPath: kept)
        for _ in 0..<2 {
            let error = await #expect(throws: ServiceError.self) {
                try await transport.send(request, context: TransportContext())
            }
            guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
            #expect(invalid.subject == .configuration && invalid.reason.contains(file), "\(invalid.reason)")
        }
        try FileManager.default.moveItem(atPath: kept, toPath: file)
        _ = try await transport.send(request, context: TransportContext())
        await transport.shutdown()
    }

    // MARK: Broken connections

    @Test("a handshake that breaks off is a failure of TLS")
    func cutOff() async throws {
        let server = try LoopbackServer()
        let closing = Task {
            while !Task.isCancelled {
                server.closeConnections()
                await Task.yield()
            }
        }
        defer { closing.cancel() }
        let failure = try await failure("https://127.0.0.1:\(server.port)", trusting)
        #expect(failure.kind == .tls)
        #expect(!failure.mayHaveReachedServer)
    }
}

/// Counts the attempts of a call.
private struct Counter: Middleware {
    let count = Noted(0)

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
        count.update { $0 += 1 }
        return try await next(request, context)
    }
}
#endif
