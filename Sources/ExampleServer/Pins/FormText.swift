/// The form that HTML forms have on the way (`application/x-www-form-urlencoded`).
enum FormText {
    /// The parameters by name; `nil` if one comes twice, which OAuth does not allow (RFC 6749, 3.2).
    static func parameters(_ text: String) -> [String: String]? {
        var parameters: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? decoded(parts[1]) : ""
            guard parameters.updateValue(value, forKey: decoded(parts[0])) == nil else { return nil }
        }
        return parameters
    }

    /// The text as it was before it was escaped. What is no escape stays as it is.
    static func decoded(_ text: some StringProtocol) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
