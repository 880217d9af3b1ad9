import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension AuthorizationServer {
    /// Opens an address as the user's browser does. Returns the address that the server leads to.
    ///
    /// Throws a `CancellationError` if the user closes the window, and `.invalidRequest` for an app that the server
    /// does not know.
    public func visit(_ address: String) throws -> String {
        var query = Self.parameters(address.split(separator: "?", maxSplits: 1).dropFirst().joined())
        let date = time.date
        return try state.withLock { state -> Result<String, any Error> in
            var problem = state.requiresPushedParameters ? "invalid_request" : nil
            if let reference = query["request_uri"], let pushed = state.pushed.removeValue(forKey: reference),
                pushed.form["client_id"] == query["client_id"]
            {
                query = pushed.form
                problem = pushed.expiry <= date ? "invalid_request_uri" : nil
            }
            guard query["client_id"] == clientID else {
                let found = query["client_id"].map { "\"\($0)\"" } ?? "one without an id"
                let reason = "the test's server knows the app \"\(clientID)\", not \(found); create it with `clientID:`"
                return .failure(ServiceError.badSetting(reason))
            }
            guard state.userAnswer != .leaves, let target = query["redirect_uri"] else {
                return .failure(CancellationError())
            }
            var answer: QueryItems = [:]
            if let problem {
                answer.add("error", problem)
            } else if query["response_type"] != "code" || query["code_challenge_method"] != "S256" {
                answer.add("error", "invalid_request")
            } else if state.userAnswer == .refuses {
                answer.add("error", "access_denied")
                answer.add("error_description", "Ann said no")
            } else {
                let code = state.next("code")
                if !state.misbehavior.contains(.usedCode) {
                    state.codes[code] = Agreement(
                        scopes: query["scope"]?.split(separator: " ").map(String.init) ?? [], redirectURI: target,
                        challenge: query["code_challenge"], nonce: query["nonce"], key: query["dpop_jkt"])
                }
                answer.add("code", code)
            }
            let wrong = state.misbehavior
            if !wrong.contains(.noState) {
                answer.add("state", wrong.contains(.wrongState) ? "another" : query["state"])
            }
            if !wrong.contains(.noIssuer) {
                answer.add("iss", wrong.contains(.wrongIssuer) ? "https://evil.test" : issuer)
            }
            let text = Array(repeating: answer.encoded, count: wrong.contains(.repeatedParameters) ? 2 : 1)
            return .success("\(target)\(target.contains("?") ? "&" : "?")\(text.joined(separator: "&"))")
        }.get()
    }

    /// Returns the parameters of a form or a query.
    static func parameters(_ text: String) -> [String: String] {
        let pairs = text.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (PercentEncoding.decode(parts[0]), parts.count > 1 ? PercentEncoding.decode(parts[1]) : "")
        }
        return Dictionary(pairs) { first, _ in first }
    }

    /// The metadata document.
    var document: JSONValue {
        let wrong = misbehavior
        var document: [String: JSONValue] = [
            "issuer": .string(wrong.contains(.foreignMetadata) ? "https://evil.test" : issuer),
            "authorization_endpoint": .string("\(issuer)/authorize"), "token_endpoint": .string("\(issuer)/token"),
            "device_authorization_endpoint": .string("\(issuer)/device"),
            "revocation_endpoint": .string("\(issuer)/revoke"),
            "pushed_authorization_request_endpoint": .string("\(issuer)/par"),
            "authorization_response_iss_parameter_supported": true, "dpop_signing_alg_values_supported": ["ES256"],
        ]
        if requiresPushedParameters { document["require_pushed_authorization_requests"] = true }
        if !wrong.contains(.noChallengeMethods) {
            document["code_challenge_methods_supported"] =
                wrong.contains(.plainChallengesOnly) ? ["plain"] : ["plain", "S256"]
        }
        return .object(document)
    }
}
