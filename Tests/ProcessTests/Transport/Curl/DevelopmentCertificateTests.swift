#if os(Linux)
@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite(
    "Certificates of servers under development", .enabled(if: Program.openssl.isInstalled, "openssl is not installed"),
    .timeLimit(.minutes(10)))
struct DevelopmentCertificateTests {
    private let authority: TestAuthority

    init() async throws {
        authority = try await TestAuthority()
    }

    /// Runs a call, and returns its error.
    private func outcome(
        of url: String, _ configure: (inout Configuration) -> Void
    ) async -> ServiceError? {
        let client = APIClient(url) {
            $0.rateLimit = .unlimited
            $0.retry = .never
            // Real time: a busy machine must not fail the test.
            $0.timeout = .seconds(60)
            configure(&$0)
        }
        let result = await Result(of: { () async throws(ServiceError) in try await client.run(Endpoint<Data>.get("")) })
        await client.shutdown()
        return result.failure
    }

    private func isUntrusted(_ error: ServiceError?) -> Bool {
        guard case .transport(let failure) = error else { return false }
        return failure.kind == .untrustedCertificate && !failure.mayHaveReachedServer
    }

    @Test("a certificate signed by itself is trusted by its file, in each form, and by its key")
    func forms() async throws {
        let (own, scratch) = (try await authority.selfSigned(), try Scratch())
        let server = try await TLSServer(own)
        #expect(isUntrusted(await outcome(of: server.url) { _ in }))
        let der = try await Program.openssl.run(["x509", "-in", own.file, "-outform", "der"])
        try der.write(to: URL(fileURLWithPath: scratch.path("own.der")))
        let key = try await Program.openssl.run(["x509", "-in", own.file, "-pubkey", "-noout"])
        try key.write(to: URL(fileURLWithPath: scratch.path("key.pem")))
        let pin = try await own.pin
        let certificates: [DevelopmentCertificate] = [
            .file(own.file, hosts: ["localhost"]), .file(scratch.path("own.der"), hosts: ["LocalHost"]),
            .file(scratch.path("key.pem"), hosts: ["localhost", "staging.test"]),
            .publicKey(pin, hosts: ["localhost"]),
        ]
        for certificate in certificates {
            #expect(try certificate.keyHash() == pin)
            #expect(await outcome(of: server.url) { $0.developmentCertificate = certificate } == nil)
        }
    }

    @Test("another certificate at the host is refused before anything is sent, whoever has signed it")
    func others() async throws {
        let own = try await authority.selfSigned()
        let certificate = DevelopmentCertificate.file(own.file, hosts: ["localhost"])
        let stranger = try await TestAuthority()
        for other in [try await authority.issue(), try await stranger.selfSigned()] {
            let server = try await TLSServer(other)
            #expect(isUntrusted(await outcome(of: server.url) { $0.developmentCertificate = certificate }))
            let trusting = authority.transport { $0.developmentCertificate = certificate }
            #expect(isUntrusted(await outcome(of: server.url) { $0.transport = trusting }))
        }
    }

    @Test("servers at other hosts are verified as ever, by the same transport, whichever is asked first")
    func otherHosts() async throws {
        let own = try await authority.selfSigned()
        let (server, issued) = (try await TLSServer(own), try await TLSServer(authority.issue(to: "127.0.0.1")))
        let named = issued.url.replacing("localhost", with: "127.0.0.1")
        let unnamed = server.url.replacing("localhost", with: "127.0.0.1")
        let transport = authority.transport {
            $0.developmentCertificate = .file(own.file, hosts: ["localhost"])
        }
        for _ in 0..<3 {
            #expect(await outcome(of: server.url) { $0.transport = transport } == nil)
            #expect(await outcome(of: named) { $0.transport = transport } == nil)
            #expect(isUntrusted(await outcome(of: unnamed) { $0.transport = transport }))
        }
        await transport.shutdown()
        let elsewhere = DevelopmentCertificate.file(own.file, hosts: ["staging.test"])
        #expect(isUntrusted(await outcome(of: server.url) { $0.developmentCertificate = elsewhere }))
    }

    @Test("pins of the transport hold at other hosts, and the certificate at its own")
    func pins() async throws {
        let (own, issued) = (try await authority.selfSigned(), try await authority.issue(to: "127.0.0.1"))
        let (server, other) = (try await TLSServer(own), try await TLSServer(issued))
        let url = other.url.replacing("localhost", with: "127.0.0.1")
        for (pin, isRight) in [(try await issued.pin, true), (try await own.pin, false)] {
            let transport = authority.transport {
                $0.developmentCertificate = .file(own.file, hosts: ["localhost"])
                $0.pinnedPublicKeys = [pin]
            }
            for _ in 0..<2 {
                #expect(await outcome(of: server.url) { $0.transport = transport } == nil)
                let error = await outcome(of: url) { $0.transport = transport }
                #expect(isRight ? error == nil : isUntrusted(error))
            }
            await transport.shutdown()
        }
    }

    @Test("a file without a certificate, a host that is a pattern, and a setting in two places are refused with words")
    func refused() async throws {
        let (own, scratch) = (try await authority.selfSigned(), try Scratch())
        try scratch.write("no certificate", to: "text.pem")
        let cases: [(DevelopmentCertificate, String)] = [
            (.file(scratch.path("missing.pem"), hosts: ["localhost"]), "cannot be read"),
            (.file(scratch.path("text.pem"), hosts: ["localhost"]), "neither a certificate nor a public key"),
            (.file(own.key, hosts: ["localhost"]), "neither a certificate nor a public key"),
            (.publicKey("abc", hosts: ["localhost"]), "not a SHA-256 hash"),
            (.file(own.file, hosts: ["*.test"]), "name one host"), (.file(own.file, hosts: []), "without a host"),
            (.file(own.file, hosts: ["localhost:8443"]), "name one host"),
            (.file(own.file, hosts: ["https://localhost"]), "name one host"),
        ]
        for (certificate, words) in cases {
            let error = await outcome(of: "https://localhost:9") { $0.developmentCertificate = certificate }
            guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
            #expect(invalid.subject == .configuration && invalid.reason.contains(words))
        }
        let pattern = DevelopmentCertificate.file(own.file, hosts: ["*.test"])
        let inOptions = await outcome(of: "https://localhost:9") {
            $0.transport = authority.transport { $0.developmentCertificate = pattern }
        }
        guard case .invalidRequest = inOptions else { throw try #require(inOptions) }
        #expect(["::1", "[::1]"].allSatisfy { DevelopmentCertificate.publicKey("", hosts: [$0]).covers("[::1]") })
        let error = await outcome(of: "https://localhost:9") {
            $0.transport = CurlTransport()
            $0.developmentCertificate = .file(own.file, hosts: ["localhost"])
        }
        guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
        #expect(invalid.reason.contains("in its options"))
    }

    @Test("a certificate that is made anew is trusted when its file has it, without a new transport")
    func renewed() async throws {
        let (first, second, scratch) = (try await authority.selfSigned(), try await TestAuthority(), try Scratch())
        let file = scratch.path("current.pem")
        try scratch.write(try String(contentsOfFile: first.file, encoding: .utf8), to: "current.pem")
        let transport = authority.transport { $0.developmentCertificate = .file(file, hosts: ["localhost"]) }
        let server = try await TLSServer(first)
        #expect(await outcome(of: server.url) { $0.transport = transport } == nil)
        let next = try await second.selfSigned()
        let other = try await TLSServer(next)
        #expect(isUntrusted(await outcome(of: other.url) { $0.transport = transport }))
        try scratch.write(try String(contentsOfFile: next.file, encoding: .utf8), to: "current.pem")
        #expect(await outcome(of: other.url) { $0.transport = transport } == nil)
        await transport.shutdown()
    }

    @Test("another name in the certificate is refused, also with the right key")
    func otherName() async throws {
        let issued = try await authority.issue(to: "other.test")
        let server = try await TLSServer(issued)
        let certificate = DevelopmentCertificate.file(issued.file, hosts: ["localhost"])
        #expect(isUntrusted(await outcome(of: server.url) { $0.developmentCertificate = certificate }))
    }

    @Test("the client tells of it, with the hosts")
    func told() async throws {
        let own = try await authority.selfSigned()
        let server = try await TLSServer(own)
        let warnings = Noted<[String]>([])
        let error = await outcome(of: server.url) {
            $0.developmentCertificate = .file(own.file, hosts: ["localhost"])
            $0.observe = { event in if case .warned(let text) = event.kind { warnings.update { $0.append(text) } } }
        }
        #expect(error == nil)
        #expect(warnings.value.contains { $0.contains("certificate is trusted at localhost") })
        #expect(CurlTransport().warning?.contains("development") != true)
    }

    @Test("a certificate that is cut anywhere, or has other bytes, is none or another")
    func damaged() async throws {
        let own = try await authority.selfSigned()
        let der = Array(try await Program.openssl.run(["x509", "-in", own.file, "-outform", "der"]))
        let hash = CertificateKey.hash(ofCertificate: der)
        #expect(hash == (try await own.pin))
        for end in 0..<der.count { #expect(CertificateKey.hash(ofCertificate: Array(der[..<end])) == nil) }
        let pem = try await Program.openssl.run(["x509", "-in", own.file, "-pubkey", "-noout"])
        let key = Array(try await Program.openssl.run(["pkey", "-pubin", "-outform", "der"], input: pem))
        let start = try #require((0...der.count - key.count).first { der[$0...].starts(with: key) })
        for index in der.indices {
            var other = der
            other[index] ^= 0xFF
            // Elsewhere, a change of a length can make anything of it.
            let changed = CertificateKey.hash(ofFile: other)
            if (start..<start + key.count).contains(index) { #expect(changed != hash, "\(index)") }
        }
    }
}
#endif
