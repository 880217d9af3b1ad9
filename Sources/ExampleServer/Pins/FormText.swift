import Errand

/// The encoding of HTML forms (`application/x-www-form-urlencoded`).
enum FormText {
    /// Returns the parameters by name; `nil` if a name occurs twice, which OAuth does not allow (RFC 6749, 3.2).
    static func parameters(_ text: String) -> [String: String]? {
        var parameters: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? decoded(parts[1]) : ""
            guard parameters.updateValue(value, forKey: decoded(parts[0])) == nil else { return nil }
        }
        return parameters
    }

    /// Decodes percent escapes. Characters that are not part of an escape stay as they are.
    static func decoded(_ text: some StringProtocol) -> String {
        PercentEncoding.decode(String(text.map { $0 == "+" ? " " : $0 }))
    }
}
