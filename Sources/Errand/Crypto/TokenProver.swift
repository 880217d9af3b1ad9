#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Proves with each request that its sender has the key that a token is bound to (DPoP, RFC 9449).
///
/// A proof is made for one send: for its method, its URL, its token and the moment. So a repeated request has another.
final class TokenProver: Sendable {
    private struct Claims: Encodable {
        var jti = SystemRandom.text()
        let htm: String
        let htu: String
        let iat: Int
        var ath: String?
        var nonce: String?
    }

    /// The header field with the proof.
    static let header = "DPoP"
    /// The header field with the nonce that a server wants from now on.
    private static let nonceHeader = "DPoP-Nonce"

    let key: SigningKey
    let nonces: ProofNonces

    init(key: SigningKey, nonces: ProofNonces) {
        self.key = key
        self.nonces = nonces
    }

    /// Returns a proof for a send of that request, and the nonce in it.
    ///
    /// - Parameters:
    ///   - token: The access token that the request contains; `nil` if it asks for one.
    ///   - own: The nonce that the server has given this request; `nil` for the last one that it has given any.
    func proof(
        of request: HTTPRequest, token: String?, nonce own: String? = nil, at date: Date
    ) throws(ServiceError) -> (text: String, nonce: String?) {
        let nonce = own ?? nonces[request.url.origin]
        let claims = Claims(
            htm: request.method.rawValue, htu: "\(request.url.origin)\(request.url.path)",
            iat: Int(date.timeIntervalSince1970),
            ath: token.map { Base64URL.encode(SHA256.hash(of: Data($0.utf8))) }, nonce: nonce)
        let header = #"{"alg":"\#(key.algorithm)","jwk":\#(key.publicKey),"typ":"dpop+jwt"}"#
        return (try SignedToken.text(claims, header: header, by: key), nonce)
    }

    /// Notes the nonce that a response brings. If the response refuses the proof for want of a nonce, and brings
    /// another one than the proof had, returns that: then the request is worth repeating with it, once. Another
    /// request's would be used up if a nonce is good for one.
    @discardableResult
    func learn(from response: HTTPResponse, to request: HTTPRequest, sentWith nonce: String?) -> String? {
        guard let next = response.headers[Self.nonceHeader], !next.isEmpty else { return nil }
        nonces[request.url.origin] = next
        return next != nonce && Self.wantsNonce(response) ? next : nil
    }

    /// An API says so with a challenge, an authorization server with an error in the body (RFC 9449, 8 and 9).
    private static func wantsNonce(_ response: HTTPResponse) -> Bool {
        switch response.status {
        case 401: response.headers.tokenError?.code == HTTPHeaders.wantedNonce
        case 400:
            // A body that says something else is not about a nonce.
            response.body.bytes.flatMap { try? JSONDecoder().decode(Refusal.self, from: $0) }?.error
                == HTTPHeaders.wantedNonce
        default: false
        }
    }

    private struct Refusal: Decodable {
        let error: String
    }
}

/// The nonces that servers want in proofs, each for its origin.
final class ProofNonces: Sendable {
    /// More origins than an app calls with one token.
    private static let most = 100

    private let nonces = Lock<[Origin: String]>([:])

    subscript(origin: Origin) -> String? {
        get { nonces.withLock { $0[origin] } }
        set {
            nonces.withLock { nonces in
                if nonces.count >= Self.most, nonces[origin] == nil { nonces = [:] }
                nonces[origin] = newValue
            }
        }
    }
}

/// What proves who sends a request: the app that a server knows, and the holder of a key.
///
/// Both proofs are made for one send, when it has its permit: a server may accept a proof once, or only for a minute.
struct SenderProof: Sendable {
    /// Returns the request with what proves that the app sends it; `nil` if the request has all of that from the start.
    var app: (@Sendable (HTTPRequest) async throws(ServiceError) -> HTTPRequest)?
    /// What proves that the sender has a key; `nil` if nothing does.
    var key: TokenProver?
}
