extension HTTPHeaders {
    /// What a server asks for before it accepts a request, from a `WWW-Authenticate` header field (RFC 9110, 11.6.1).
    public struct Challenge: Sendable, Hashable {
        /// The scheme, such as `Bearer`, as written.
        public let scheme: String
        /// The values of the parameters, such as `realm`, `error`, `scope` or `resource_metadata`, by name in lower
        /// case.
        public let parameters: [String: String]

        /// Returns the value of the parameter with that name in lower case.
        public subscript(name: String) -> String? { parameters[name] }
    }

    /// The challenges of the response, in order. Malformed ones are left out, and so is what follows the first thousand
    /// names of schemes and parameters in a field.
    public var challenges: [Challenge] { values("WWW-Authenticate").flatMap(AuthenticationChallenge.read) }

    /// The error of a token that has too few scopes (RFC 6750, 3.1).
    static let insufficientScope = "insufficient_scope"
    /// The error of a user who has not signed in recently enough, or by other means than the server wants (RFC 9470).
    static let insufficientAuthentication = "insufficient_user_authentication"
    /// The error of a proof without the nonce that the server wants (RFC 9449, 9).
    static let wantedNonce = "use_dpop_nonce"
    /// The errors that another token would not help against: it would have the same scopes and the same sign-in behind
    /// it, and the same key would sign its proofs.
    static let errorsBesideToken = [
        insufficientScope, insufficientAuthentication, wantedNonce, "invalid_dpop_proof",
    ]

    /// The first error that a challenge for a token names (RFC 6750, 3, and RFC 9449, 7.1), and the challenge; `nil` if
    /// there is none.
    var tokenError: (code: String, challenge: Challenge)? {
        // Most responses have no challenge.
        guard self["WWW-Authenticate"] != nil else { return nil }
        for challenge in challenges where ["bearer", "dpop"].contains(challenge.scheme.lowercased()) {
            if let code = challenge["error"], !code.isEmpty { return (code, challenge) }
        }
        return nil
    }

    /// Whether a refusal is not about the token, so that it must not be replaced.
    var refusesNotToken: Bool { tokenError.map { Self.errorsBesideToken.contains($0.code) } ?? false }
}

extension HTTPHeaders.Challenge: OpaqueReflectable {
    /// The scheme and the names of the parameters: the values may be anything.
    public var description: String {
        "\(scheme)(\(parameters.keys.sorted().joined(separator: ", ")))".printable
    }
}

/// The `WWW-Authenticate` header field.
///
/// A comma stands between challenges and between the parameters of one, so only what follows a name tells what it is: a
/// parameter has an equals sign.
private enum AuthenticationChallenge {
    /// Returns the challenges of one field.
    static func read(_ value: String) -> [HTTPHeaders.Challenge] {
        var parser = FieldParser(value)
        var found: [(scheme: String, parameters: [String: String])] = []
        var names = 0
        while names < FieldParser.mostElements {
            parser.skip(while: isSeparator)
            guard !parser.isAtEnd else { break }
            guard let name = parser.token() else {
                // What is no name belongs to nothing.
                parser.skip { $0 != UInt8(ascii: ",") }
                continue
            }
            names += 1
            let isFollowed = parser.next == 0x20 || parser.next == 0x09
            parser.skipSpaces()
            if parser.skip(UInt8(ascii: "=")) {
                parser.skipSpaces()
                let text = parser.quotedText() ?? parser.take { !isSeparator($0) }.description
                let name = name.lowercased()
                // A parameter occurs once; the first counts, as a later one may have been added on the way.
                if let last = found.indices.last, found[last].parameters[name] == nil {
                    found[last].parameters[name] = text
                }
                continue
            }
            found.append((String(name), [:]))
            if isFollowed { skipToken68(&parser) }
        }
        return found.map { HTTPHeaders.Challenge(scheme: $0.scheme, parameters: $0.parameters) }
    }

    private static func isSeparator(_ byte: UInt8) -> Bool { byte == UInt8(ascii: ",") || byte == 0x20 || byte == 0x09 }

    /// Skips the one value that some schemes have in place of parameters.
    private static func skipToken68(_ parser: inout FieldParser) {
        var ahead = parser
        ahead.skip { HTTPSyntax.isTokenByte($0) || $0 == UInt8(ascii: "/") }
        ahead.skip { $0 == UInt8(ascii: "=") }
        ahead.skipSpaces()
        if ahead.isAtEnd || ahead.next == UInt8(ascii: ",") { parser = ahead }
    }
}
