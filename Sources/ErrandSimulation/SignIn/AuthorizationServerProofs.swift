public import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension AuthorizationServer {
    /// Returns the response of an API that refuses a request because of its access token; `nil` if it accepts the
    /// request.
    ///
    ///     network.on(.get, "https://api.test/me") { request in
    ///         guard let refusal = server.refusal(of: request) else { return .status(204) }
    ///         return .response(refusal)
    ///     }
    ///
    /// An access token of this server is accepted for an hour, unless it was revoked. One that is bound to a key needs
    /// a proof for this request (DPoP, RFC 9449), with ``proofNonce`` if there is one. The signature is not checked.
    public func refusal(of request: HTTPRequest) -> HTTPResponse? {
        let words = (request.headers["Authorization"] ?? "").split(separator: " ", maxSplits: 1).map(String.init)
        let (now, token) = (time.now, words.last ?? "")
        let found = words.count == 2 ? state.withLock { $0.access(token, at: now) } : nil
        let scheme = found?.key == nil ? "Bearer" : "DPoP"
        guard let found, words.first == scheme else { return Self.challenge(scheme, Refusal(code: "invalid_token")) }
        guard let key = found.key else { return nil }
        do throws(Refusal) {
            guard try provenKey(of: request, token: token) == key else { throw Refusal(code: "invalid_token") }
            return nil
        } catch {
            return Self.challenge(scheme, error)
        }
    }

    private static func challenge(_ scheme: String, _ refusal: Refusal) -> HTTPResponse {
        var headers: HTTPHeaders = ["WWW-Authenticate": #"\#(scheme) error="\#(refusal.code)""#]
        if let nonce = refusal.nonce { headers["DPoP-Nonce"] = nonce }
        return HTTPResponse(status: 401, headers: headers)
    }

    /// Returns the thumbprint of the key whose holder has sent the request; `nil` if the request has no proof.
    ///
    /// - Parameters:
    ///   - token: The access token that the proof has to be for; `nil` if it asks for one.
    func provenKey(of request: HTTPRequest, token: String? = nil) throws(Refusal) -> String? {
        guard let text = request.headers["DPoP"] else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.json(in: parts[0]), let claims = Self.json(in: parts[1]),
            header["typ"]?.string == "dpop+jwt", header["alg"]?.string == "ES256", let key = header["jwk"],
            let id = claims["jti"]?.string, claims["htm"]?.string == request.method.rawValue,
            claims["htu"]?.string == "\(request.url.origin)\(request.url.path)", let made = claims["iat"]?.number,
            abs(made - time.date.timeIntervalSince1970) <= 60,
            claims["ath"]?.string == token.map({ Self.hash($0) })
        else { throw Refusal(code: "invalid_dpop_proof") }
        let (wanted, isNew) = state.withLock { state in
            let wanted = state.proofNonce == claims["nonce"]?.string ? nil : state.proofNonce
            return (wanted, wanted != nil || state.proofs.insert(id).inserted)
        }
        if let wanted { throw Refusal(code: "use_dpop_nonce", nonce: wanted) }
        guard isNew else { throw Refusal(code: "invalid_dpop_proof") }
        return Self.thumbprint(of: key)
    }

    /// The thumbprint of a key on a curve (RFC 7638).
    private static func thumbprint(of key: JSONValue) -> String {
        let members = ["crv", "kty", "x", "y"].map { name in
            let value = key[name]?.string ?? ""
            return #""\#(name)":"\#(value)""#
        }
        return hash("{\(members.joined(separator: ","))}")
    }

    private static func hash(_ text: String) -> String { Base64URL.encode(SHA256.hash(of: Data(text.utf8))) }

    private static func json(in part: Substring) -> JSONValue? {
        // What is no JSON is no part of a proof.
        Base64URL.decode(part).flatMap { try? JSONDecoder().decode(JSONValue.self, from: $0) }
    }
}
