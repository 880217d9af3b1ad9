/// Keeps secrets out of whatever a person reads: descriptions, logs, errors, cURL text.
struct Redactor: Sendable {
    /// What stands in the place of a secret.
    static let mask = "‹redacted›"
    /// Knows the names that are secret by custom.
    static let standard = Redactor()

    private static let customHeaders: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "www-authenticate", "x-api-key", "api-key",
        "x-auth-token", "x-access-token", "x-csrf-token", "x-amz-security-token",
    ]
    private static let secretEndings = [
        "token", "secret", "password", "passwd", "passphrase", "apikey", "accesskey", "privatekey", "authorization",
        "credential", "credentials", "signature", "assertion", "jwt", "sessionid",
    ]

    private let headers: Set<String>

    /// Adds a client's own secret headers to those that are secret by custom.
    init(headers: Set<String> = []) {
        self.headers = Set(headers.map { $0.lowercased() })
    }

    /// Whether a header's value is a secret.
    func isSecret(header name: String) -> Bool {
        let name = name.lowercased()
        return Self.customHeaders.contains(name) || headers.contains(name) || isSecret(parameter: name)
    }

    /// Whether the value of a parameter is a secret.
    func isSecret(parameter name: String) -> Bool {
        let bare = name.lowercased().filter { $0.isLetter || $0.isNumber }
        return Self.secretEndings.contains { bare.hasSuffix($0) }
    }

    /// Whether the value of a member of a JSON object is a secret: some names are so only there.
    func isSecret(member name: String) -> Bool {
        ["access", "refresh", "pwd", "pass", "pin", "otp"].contains(name.lowercased()) || isSecret(parameter: name)
    }

    /// Whether the value of a query's parameter is a secret: some names are so only there.
    func isSecret(query name: String) -> Bool {
        ["code", "key", "sig", "auth"].contains(name.lowercased()) || isSecret(parameter: name)
    }

    /// The value of a header as it may be shown.
    func value(of field: HTTPHeaders.Field) -> String {
        if field.isSecret || isSecret(header: field.name) { return Self.mask }
        if field.name.equalsIgnoringCase("location") { return text(ofURL: field.value) }
        return field.value
    }

    /// A URL as it may be shown.
    func text(of url: HTTPURL) -> String {
        guard let query = url.query else { return url.origin.description + url.path }
        return "\(url.origin)\(url.path)?\(redacted(query: query))"
    }

    /// Something that may be a URL, as it may be shown: neither its secret parameters nor a password before the host.
    func text(ofURL text: String) -> String {
        var shown = text
        let start = shown.firstRange(of: "//")?.upperBound ?? shown.startIndex
        let authority = shown[start...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        // What follows a colon and is no port may be the beginning of a password with such a character in it.
        let isCutOff =
            authority.first != "["
            && authority.split(separator: ":", maxSplits: 1).dropFirst().contains { !$0.allSatisfy(\.isNumber) }
        if let at = authority.lastIndex(of: "@") ?? (isCutOff ? shown.lastIndex(of: "@") : nil) {
            shown.replaceSubrange(start..<at, with: Self.mask)
        }
        // A fragment may be a query too: that is how some sign-ins hand over a token.
        for separator in ["#", "?"] {
            guard let mark = shown.firstRange(of: separator) else { continue }
            shown = shown[..<mark.upperBound] + redacted(query: String(shown[mark.upperBound...]))
        }
        return shown
    }

    func redacted(query: String) -> String {
        query.split(separator: "&", omittingEmptySubsequences: false).map { pair in
            guard let equals = pair.firstIndex(of: "=") else { return String(pair) }
            let name = PercentEncoding.decode(pair[..<equals])
            return isSecret(query: name) ? "\(pair[...equals])\(Self.mask)" : String(pair)
        }.joined(separator: "&")
    }

    /// Text that a server sent, as it may be shown: without the values of secret members of JSON, without what
    /// follows `Bearer`, and without the secrets that are known.
    func text(ofBody text: String, hiding secrets: [String] = []) -> String {
        var shown = text
        // The longest first: one may be a part of another.
        for secret in secrets.sorted(by: { $0.utf8.count > $1.utf8.count }) where !secret.isEmpty {
            shown = shown.replacing(secret, with: Self.mask)
        }
        return maskingBearers(maskingMembers(shown))
    }

    private func maskingMembers(_ text: String) -> String {
        var shown = ""
        var start = text.startIndex
        for value in JSONMembers.values(in: text, where: isSecret(member:)) {
            shown += text[start..<value.lowerBound] + Self.mask
            start = value.upperBound
        }
        return shown + text[start...]
    }

    private func maskingBearers(_ text: String) -> String {
        guard text.contains("earer ") else { return text }
        return text.split(separator: "earer ", omittingEmptySubsequences: false).enumerated().map { index, part in
            guard index > 0 else { return String(part) }
            let word = part.prefix { !$0.isWhitespace && !"\",;<".contains($0) }
            // "bearer token" is prose; a credential has a digit in it or is long.
            guard word.count > 16 || word.contains(where: \.isNumber) else { return String(part) }
            return Self.mask + part[word.endIndex...]
        }.joined(separator: "earer ")
    }
}
