import Errand

/// The names and values of a query or of a form, decoded.
struct Fields: Sendable {
    private struct Field: Sendable, Hashable {
        var name: String
        var value: String?
    }

    private var fields: [Field]

    /// Reads a query.
    init(query: Substring) {
        fields = Self.fields(of: query, decode: { PercentEncoding.decode($0) })
    }

    /// Reads a form, in which a plus sign is a space.
    init(form: String) {
        fields = Self.fields(of: form[...]) { text in
            PercentEncoding.decode(String(text.map { $0 == "+" ? " " : $0 }))
        }
    }

    private static func fields(of text: Substring, decode: (Substring) -> String) -> [Field] {
        text.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return Field(name: decode(parts[0]), value: parts.count > 1 ? decode(parts[1]) : nil)
        }
    }

    /// Returns the fields that are missing and those that are too many; `nil` if there are none.
    func difference(
        from sent: Fields, as part: Difference.Part, isOrdered: Bool = false, redactor: Redactor
    ) -> Difference? {
        guard fields != sent.fields else { return nil }
        var extra = sent.fields
        let missing = fields.filter { field in
            guard let index = extra.firstIndex(of: field) else { return true }
            extra.remove(at: index)
            return false
        }
        let named = Set(fields.map(\.name))
        func text(_ field: Field) -> String {
            guard let value = field.value else { return field.name }
            // The value of a name that the script knows may be shown.
            if named.contains(field.name) { return "\(field.name)=\(value)".shortened }
            let isSecret = redactor.isSecret(parameter: field.name)
            return "\(field.name)=\(isSecret ? Redactor.mask : redactor.text(value))".shortened
        }
        guard missing.isEmpty, extra.isEmpty else { return Difference(part, missing.map(text), extra.map(text)) }
        guard isOrdered else { return nil }
        let texts = [fields, sent.fields].map { $0.map(text).joined(separator: "&") }
        return Difference(part, [texts[0]], [texts[1]])
    }
}
