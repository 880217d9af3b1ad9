@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("OAuth: tokens that are bound to a key (DPoP)")
struct TokenProofTests {
    private let key: SigningKey
    private let clock = TestClock()
    private let network = scripted()

    init() throws {
        key = try SigningKey()
    }

    /// What a proof says.
    private struct Proof: Decodable, Sendable {
        struct Header: Decodable {
            let typ: String
            let alg: String
            let jwk: [String: String]
        }

        let jti: String
        let htm: String
        let htu: String
        let iat: Int
        let ath: String?
        let nonce: String?
    }

    /// Returns the proof of a request, whose header and signature are checked.
    private func proof(_ sent: ScriptedTransport.Sent) throws -> Proof {
        let parts = try #require(sent.request.headers["DPoP"]).split(separator: ".").map(String.init)
        #expect(parts.count == 3)
        let header = try JSONDecoder().decode(
            Proof.Header.self, from: try #require(Base64URL.decode(parts[0])))
        #expect(header.typ == "dpop+jwt" && header.alg == "ES256")
        let jwk = try JSONDecoder().decode([String: String].self, from: Data(key.publicKey.utf8))
        #expect(header.jwk == jwk, "the public key, and nothing else")
        return try JSONDecoder().decode(Proof.self, from: try #require(Base64URL.decode(parts[1])))
    }

    private func client(refreshes: Noted<Int> = Noted(0), _ configure: (inout Configuration) -> Void = { _ in })
        async -> APIClient
    {
        let tokens = TokenStore(time: clock) { old in
            refreshes.update { $0 += 1 }
            return old
        }
        await tokens.signIn(Token(accessToken: "access-1", refreshToken: "r", type: "DPoP", proofKey: key))
        return APIClient("https://api.test") {
            $0.transport = network
            $0.time = clock
            $0.tokens = tokens
            $0.rateLimit = .unlimited
            configure(&$0)
        }
    }

    private static func refusal(_ nonce: String) -> ScriptedReply {
        .status(401, headers: ["WWW-Authenticate": #"DPoP error="use_dpop_nonce""#, "DPoP-Nonce": nonce])
    }

    @Test("S13: each send has a proof of its own, for its method, its URL without the query, its token and the moment")
    func eachSend() async throws {
        network.on(.get, "/files", .status(503), .json("[]"))
        network.on(.get, "/next", .status(204))
        let client = await client()
        try await clock.run {
            _ = try await client.run(Endpoint<[Int]>.get("files", query: ["q": "a b"]))
            try await client.run(Endpoint<NoContent>.get("next"))
        }
        let proofs = try network.sent.map(proof)
        #expect(proofs.count == 3)
        #expect(Set(proofs.map(\.jti)).count == 3)
        #expect(proofs.map(\.htm) == ["GET", "GET", "GET"])
        #expect(
            proofs.map(\.htu) == ["https://api.test/files", "https://api.test/files", "https://api.test/next"])
        let hash = Base64URL.encode(SHA256.hash(of: Data("access-1".utf8)))
        #expect(proofs.allSatisfy { $0.ath == hash && $0.nonce == nil })
        #expect(proofs[0].iat == 1_000_000_000 && proofs[1].iat >= proofs[0].iat)
        #expect(network.sent.allSatisfy { $0.request.headers["Authorization"] == "DPoP access-1" })
    }

    @Test("S13: a wanted nonce is used in one repetition, which is no refresh, and from then on at that origin")
    func nonce() async throws {
        network.on(.get, "/a", Self.refusal("n-1"), .status(204))
        network.on(.get, "/b", .status(204, headers: ["DPoP-Nonce": "n-2"]))
        network.on(.get, "/c", .status(204))
        let refreshes = Noted(0)
        let client = await client(refreshes: refreshes)
        for call in [Endpoint<NoContent>.get("a"), .get("b"), .get("c")] { try await client.run(call) }
        #expect(try network.sent.map { try proof($0).nonce } == [nil, "n-1", "n-1", "n-2"])
        #expect(refreshes.value == 0)
    }

    @Test("S13: where a nonce is good for one request, each of many calls at once is repeated with its own")
    func nonceForOne() async throws {
        let server = Noted((next: 0, good: Set<String>(), refused: 0))
        network.onAny { request in
            let proof = request.headers["DPoP"] ?? ""
            let payload = proof.split(separator: ".").dropFirst().first.flatMap { Base64URL.decode($0) } ?? Data()
            let nonce = try JSONDecoder().decode(Proof.self, from: payload).nonce
            await Task.yield()
            var (isGood, next) = (false, "")
            server.update { state in
                isGood = nonce.map { state.good.remove($0) != nil } ?? false
                state.next += 1
                next = "n-\(state.next)"
                state.good.insert(next)
                if !isGood { state.refused += 1 }
            }
            let challenge: HTTPHeaders = isGood ? [:] : ["WWW-Authenticate": #"DPoP error="use_dpop_nonce""#]
            var headers = challenge
            headers["DPoP-Nonce"] = next
            return .status(isGood ? 204 : 401, headers: headers)
        }
        let client = await client()
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<200 {
                group.addTask { (try? await client.run(Endpoint<NoContent>.get("a"))) != nil }
            }
            for await hasSucceeded in group { #expect(hasSucceeded) }
        }
        #expect(server.value.refused > 0)
    }

    @Test("S13: each origin has a nonce of its own, which goes to no other")
    func origins() async throws {
        let api = await client()
        let files = APIClient("https://files.test") {
            $0.transport = network
            $0.time = clock
            $0.tokens = api.configuration.tokens
            $0.rateLimit = .unlimited
        }
        network.on(.get, "https://api.test/a", Self.refusal("api-1"), ScriptedReply.status(204).times(2))
        network.on(.get, "https://files.test/a", Self.refusal("files-1"), ScriptedReply.status(204).times(2))
        for client in [api, files, api, files] { try await client.run(Endpoint<NoContent>.get("a")) }
        let hosts = network.sent.map(\.request.url.origin.host)
        #expect(hosts == ["api.test", "api.test", "files.test", "files.test", "api.test", "files.test"])
        let nonces = try network.sent.map { try proof($0).nonce }
        #expect(nonces == [nil, "api-1", nil, "files-1", "api-1", "files-1"])
    }

    @Test("S13: a server that refuses the nonce that it has asked for gets no third request, and there is no refresh")
    func sameNonce() async throws {
        network.on(.get, "/a", Self.refusal("n-1"), Self.refusal("n-1"))
        network.on(.get, "/b", Self.refusal("n-1"))
        let refreshes = Noted(0)
        let client = await client(refreshes: refreshes)
        for call in [Endpoint<NoContent>.get("a"), .get("b")] {
            let error = await failure { () async throws(ServiceError) in try await client.run(call) }
            #expect(error?.status == 401)
            guard case .rejected(let rejection) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(rejection.code == "use_dpop_nonce")
        }
        #expect(network.sent.count == 3)
        #expect(refreshes.value == 0)
        let isSignedIn = await client.configuration.tokens?.isSignedIn
        #expect(isSignedIn == true)
    }

    @Test("S13: a one-shot body is not repeated; the next call has the nonce")
    func oneShot() async throws {
        network.on(.post, "/a", Self.refusal("n-1"), .status(204))
        let client = await client()
        let pieces = AsyncStream<Data> { continuation in
            continuation.yield(Data("abc".utf8))
            continuation.finish()
        }
        let error = await failure { () async throws(ServiceError) in
            try await client.run(Endpoint<NoContent>.post("a", body: .stream(contentType: "text/plain", pieces)))
        }
        #expect(error?.status == 401)
        try await client.run(Endpoint<NoContent>.post("a"))
        #expect(try network.sent.map { try proof($0).nonce } == [nil, "n-1"])
    }

    @Test("S13: a redirect within the origin has a new proof, and one to another origin has none")
    func redirects() async throws {
        network.on(.get, "/a", .status(302, headers: ["Location": "/b"]))
        network.on(.get, "/b", .status(302, headers: ["Location": "https://other.test/c"]))
        network.on(.get, "https://other.test/c", .status(204))
        let client = await client()
        try await client.run(Endpoint<NoContent>.get("a"))
        #expect(try network.sent.prefix(2).map { try proof($0).htu } == ["https://api.test/a", "https://api.test/b"])
        #expect(network.sent.last?.request.headers["DPoP"] == nil)
        #expect(network.sent.last?.request.headers["Authorization"] == nil)
    }

    @Test("S13: the token endpoint gets proofs without a token hash, its nonce, and the thumbprint in the page")
    func tokenEndpoint() async throws {
        let metadata = OAuth.ServerMetadata(
            authorizationEndpoint: "https://login.test/authorize", tokenEndpoint: "https://login.test/token")
        let refusal = ScriptedReply.json(#"{"error":"use_dpop_nonce"}"#, status: 400, headers: ["DPoP-Nonce": "l-1"])
        let answer = #"{"access_token":"access-2","token_type":"DPoP","refresh_token":"r-2"}"#
        let unbound = ScriptedReply.json(#"{"access_token":"a","token_type":"Bearer"}"#)
        network.on(.post, "/token", refusal, .json(answer), .json(answer), unbound)
        let oauth = OAuth(metadata, client: .public(id: "app")) { [network, clock] in
            $0.transport = network
            $0.time = clock
            $0.rateLimit = .unlimited
        }
        let bound = oauth.bindingTokens(to: key)
        let request = try await bound.signInRequest(redirectURI: "https://app.test/in")
        #expect(parameters(of: request.address)["dpop_jkt"] == key.thumbprint)
        let state = try #require(parameters(of: request.address)["state"])
        let token = try await request.token(redirectedTo: "https://app.test/in?code=c&state=\(state)")
        #expect(token.proofKey == key && token.type == "DPoP")
        #expect(try network.sent.map { try proof($0).nonce } == [nil, "l-1"])
        #expect(try network.sent.allSatisfy { try proof($0).ath == nil })
        // Another process has only what was saved.
        let saved = try JSONDecoder().decode(Token.self, from: JSONEncoder().encode(token))
        let next = try await oauth.refresh(saved)
        #expect(next.proofKey == key)
        _ = try proof(try #require(network.sent.last))
        // Another name for it does not take the binding away.
        let kept = try await bound.refresh(saved)
        #expect(kept.type == "DPoP" && kept.proofKey == key)
    }

    @Test("S13: the signature is right for OpenSSL; no description shows a proof or a key")
    func secrets() async throws {
        network.on(.get, "/a", .status(204), .status(418))
        let events = Noted("")
        let client = await client()
        let log = client.diagnostics
        let reading = Task(executorPreference: clock.executor) {
            for await event in log { events.update { $0 += "\(event)\n" } }
        }
        try await client.run(Endpoint<NoContent>.get("a"))
        let error = await failure { () async throws(ServiceError) in
            try await client.run(Endpoint<NoContent>.get("a"))
        }
        await client.shutdown()
        await reading.value
        let sent = try #require(network.sent.first)
        let text = try #require(sent.request.headers["DPoP"])
        let secret = key.rawRepresentation.base64EncodedString()
        let token = Token(accessToken: "a", type: "DPoP", proofKey: key)
        for shown in [events.value, "\(error as Any)", "\(sent.request)", "\(token)", String(reflecting: token)] {
            #expect(!shown.contains(text) && !shown.contains(secret))
        }
        #expect(!events.value.isEmpty)
        let parts = text.split(separator: ".").map(String.init)
        #if os(Linux)
        let signature = Array(try #require(Base64URL.decode(parts[2])))
        #expect(try SignatureCheck.accepts(signature, of: Data("\(parts[0]).\(parts[1])".utf8), by: key))
        #endif
    }
}
