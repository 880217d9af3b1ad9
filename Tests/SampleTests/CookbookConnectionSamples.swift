import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct BodySignature: Middleware {
    let sign: @Sendable (Data) -> String

    func intercept(
        _ request: HTTPRequest, _ context: CallContext, next: Next
    ) async throws -> HTTPResponse {
        var request = request
        let body = request.body ?? .bytes(Data())
        if let bytes = body.bytes, !context.hasLeftOrigin { request.headers["X-Signature"] = sign(bytes) }
        return try await next(request, context)
    }
}

@Suite("Cookbook: media types, signatures and connections")
struct CookbookConnectionSamples {
    private let network = scripted()

    @Test("several files go under one name")
    func album() async throws {
        let scratch = try Scratch()
        let paths = ["a.jpg", "b.jpg"].map { scratch.path($0) }
        for name in ["a.jpg", "b.jpg"] { try scratch.write(name, to: name) }
        let expected = ExpectedBody.multipart {
            $0.add("tag", "sea")
            $0.add("tag", "evening")
            $0.add("photos[]", file: paths[0])
            $0.add("photos[]", file: paths[1])
        }
        network.on(.post, "/albums", body: expected, .status(204))
        let client = testClient(network)
        let album = RequestBody.multipart {
            $0.add("tag", ["sea", "evening"])
            for path in paths { $0.add("photos[]", file: path) }
        }
        try await client.run(.post("albums", body: album))
    }

    @Test("another media type is accepted and sent")
    func mediaType() async throws {
        let accepting = {
            let client = APIClient("https://api.example.com") {
                $0.acceptedContentTypes = ["application/vnd.api+json"]
            }
            return client.configuration.acceptedContentTypes
        }()
        network.on(.post, "/users") {
            .status(
                200, headers: ["Content-Type": "application/vnd.api+json"], body: #"{"id": 8, "name": "Bo"}"#)
        }
        let client = testClient(network) { $0.acceptedContentTypes = accepting }
        let invite = Endpoint<User>.post("users", body: .json(User(id: 9, name: "Bo")))
            .header("Content-Type", "application/vnd.api+json")
        #expect(try await client.run(invite).id == 8)
        let sent = try #require(network.sent.first).request.headers
        #expect(sent["Accept"] == "application/vnd.api+json")
        #expect(sent.values("Content-Type") == ["application/vnd.api+json"])
    }

    @Test("a body in memory is signed, and nothing leaves for another server")
    func signature() async throws {
        network.on(.post, "/users", .status(204))
        let signing = BodySignature { "\($0.count) bytes" }
        let client = testClient(network) { $0.attemptMiddlewares = [signing] }
        try await client.run(.post("users", body: .json(User(id: 9, name: "Bo"))))
        #expect(network.sent.first?.request.headers["X-Signature"] == "20 bytes")
        let context = CallContext(.get, "friends", hasLeftOrigin: true)
        let request = HTTPRequest(method: .get, url: try HTTPURL("https://other.example.com/"))
        _ = try await signing.intercept(request, context) { request, _ in
            #expect(request.headers["X-Signature"] == nil)
            return HTTPResponse(status: 200)
        }
    }

    #if os(Linux)
    @Test("a transport trusts other certificates, has one, or a proxy")
    func transports() {
        let authority = {
            var options = CurlTransport.Options()
            options.certificateAuthorities = "/etc/ssl/our-own.pem"
            let client = APIClient("https://api.example.com") {
                $0.transport = CurlTransport(options)
            }
            return client.configuration.transport?.identity
        }()
        let pin = {
            var options = CurlTransport.Options()
            options.pinnedPublicKeys = ["x9SZw6TwIqfmvrLZ/kz1o0Ossjmn728BnBKpUFqGNVM="]
            let client = APIClient("https://api.example.com") {
                $0.transport = CurlTransport(options)
            }
            return client.configuration.transport?.identity
        }()
        let certificate = {
            var options = CurlTransport.Options()
            options.clientCertificate = .init(certificate: "/etc/app/client.pem", key: "/etc/app/client.key")
            let client = APIClient("https://api.example.com") {
                $0.transport = CurlTransport(options)
            }
            return client.configuration.transport?.identity
        }()
        let proxy = {
            var options = CurlTransport.Options()
            options.proxy = .url("http://proxy.example.com:3128")
            options.certificateAuthorities = "/etc/ssl/company.pem"  // if the proxy decrypts what it passes on
            let client = APIClient("https://api.example.com") {
                $0.transport = CurlTransport(options)
            }
            return client.configuration.transport?.identity
        }()
        let debugging = {
            var options = CurlTransport.Options()
            options.proxy = .url("http://127.0.0.1:8080")
            options.certificateAuthorities = "mitmproxy-ca-cert.pem"
            options.proxiesLoopback = true  // also requests to this machine
            let client = APIClient("https://api.example.com") {
                $0.transport = CurlTransport(options)
            }
            return client.configuration.transport?.identity
        }()
        // What distinguishes a transport from the default has an identity of its own.
        let identities = [authority, pin, certificate, proxy, debugging].compactMap(\.self)
        #expect(Set(identities).count == 5 && !identities.contains(""))
    }
    #endif
}
