import ErrandJSON

/// The payload of a JSON Web Token (RFC 7519), without any check of its signature.
struct JSONWebToken: Sendable {
    /// The claims.
    let claims: [String: JSONValue]

    /// Reads a token in the compact form; `nil` if the text is none.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        // An encrypted token has five parts.
        guard parts.count == 3, let payload = Base64URL.decode(parts[1]),
            // Text that is no JSON is no token.
            let claims = try? FastJSONDecoder().decode(JSONValue.self, from: payload), let object = claims.object
        else { return nil }
        self.claims = object
    }

    /// The time of a claim, in seconds since 1970; `nil` if there is none.
    func seconds(_ name: String) -> Double? {
        claims[name]?.number.flatMap { $0.isFinite ? $0 : nil }
    }
}
