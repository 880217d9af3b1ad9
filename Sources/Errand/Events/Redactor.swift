/// Keeps secrets out of whatever a person reads: descriptions, logs, errors, cURL text.
struct Redactor: Sendable {
    /// What stands in the place of a secret.
    static let mask = "‹redacted›"
    /// Knows the names that are secret by custom.
    static let standard = Redactor(headers: [], parameters: [])

    private static let customHeaders: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "www-authenticate", "x-api-key", "api-key",
        "x-auth-token", "x-access-token", "x-csrf-token", "x-amz-security-token",
    ]
    private static let secretEndings = [
        "token", "secret", "password", "passwd", "passphrase", "apikey", "accesskey", "privatekey", "authorization",
        "credential", "credentials", "signature", "assertion", "jwt", "sessionid",
    ]

    private let headers: Set<String>
    private let parameters: Set<String>

    /// Adds the client's own secret names to those that are secret by custom.
    init(headers: Set<String>, parameters: Set<String>) {
        self.headers = Set(headers.map { $0.lowercased() })
        self.parameters = Set(parameters.map { $0.lowercased() })
    }

    /// Whether a header's value is a secret.
    func isSecret(header name: String) -> Bool {
        let name = name.lowercased()
        return Self.customHeaders.contains(name) || headers.contains(name) || isSecret(parameter: name)
    }

    /// Whether the value of a parameter, or of a member of a JSON object, is a secret.
    func isSecret(parameter name: String) -> Bool {
        let name = name.lowercased()
        if parameters.contains(name) { return true }
        let bare = name.filter { $0.isLetter || $0.isNumber }
        return Self.secretEndings.contains { bare.hasSuffix($0) }
    }

    /// Whether the value of a query's parameter is a secret: some names are so only there.
    private func isSecret(query name: String) -> Bool {
        ["code", "key", "sig", "auth"].contains(name.lowercased()) || isSecret(parameter: name)
    }

    /// The value of a header as it may be shown.
    func value(of field: HTTPHeaders.Field) -> String {
        if isSecret(header: field.name) { return Self.mask }
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
        if let slashes = shown.firstRange(of: "//") {
            let authority = shown[slashes.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
            if let at = authority.lastIndex(of: "@") {
                shown.replaceSubrange(authority.startIndex..<at, with: Self.mask)
            }
        }
        guard let mark = shown.firstIndex(of: "?") else { return shown }
        return shown[...mark] + redacted(query: String(shown[shown.index(after: mark)...]))
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
        for secret in secrets where !secret.isEmpty { shown = shown.replacing(secret, with: Self.mask) }
        return maskingBearers(maskingMembers(shown))
    }

    private func maskingMembers(_ text: String) -> String {
        var shown = ""
        var rest = text[...]
        while let quote = rest.firstIndex(of: "\"") {
            let name = rest[rest.index(after: quote)...].prefix { $0 != "\"" }
            shown += rest[..<quote]
            guard name.endIndex < rest.endIndex else { return shown + rest[quote...] }
            let after = rest.index(after: name.endIndex)
            shown += rest[quote..<after]
            rest = rest[after...]
            guard isSecret(parameter: String(name)) else { continue }
            let gap = rest.prefix { $0.isWhitespace || $0 == ":" }
            guard gap.contains(":") else { continue }
            shown += gap
            rest = rest[gap.endIndex...]
            shown += Self.mask
            rest = rest.dropFirst(Self.lengthOfValue(rest))
        }
        return shown + rest
    }

    /// How many characters the JSON value at the start of the text takes; a value that is cut off takes all that is
    /// left.
    private static func lengthOfValue(_ text: Substring) -> Int {
        guard text.first == "\"" else { return text.prefix { !",}]".contains($0) }.count }
        var length = 1
        var isEscaped = false
        for character in text.dropFirst() {
            length += 1
            if isEscaped {
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                break
            }
        }
        return length
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
