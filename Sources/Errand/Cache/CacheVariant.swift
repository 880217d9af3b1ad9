/// The request fields on which a stored response depends, and what the request had in them (RFC 9111, 4.1).
///
/// Values are compared without the spaces around their commas, and several fields with a name count as one list: both
/// are the same to a server. Values of fields that may say who asks are not kept: a response belongs to a partition of
/// the cache in which all requests have the same.
struct CacheVariant: Sendable, Hashable {
    /// The names in lower case, sorted.
    let names: [String]
    /// The values, in the order of the names; `nil` where the request had no such field, or the partition covers it.
    let values: [String?]

    init(names: [String], values: [String?]) {
        (self.names, self.values) = (names, values)
    }

    static func == (left: CacheVariant, right: CacheVariant) -> Bool {
        left.names == right.names && left.values.elementsEqual(right.values) { $0 == $1 }
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(names)
        for value in values { hasher.combine(bytesOf: value ?? "") }
    }

    /// A response that depends on more fields than this is not stored: each lookup compares all of them.
    static let mostNames = 32

    /// A response that depends on no field.
    static let none = CacheVariant(names: [], values: [])

    /// Returns the names in the `Vary` fields; `nil` if they are malformed or too many, or if one is `*`, which no
    /// request matches.
    ///
    /// `Accept-Encoding` is left out, because bodies are decoded before they are stored.
    static func names(in headers: HTTPHeaders) -> [String]? {
        let values = headers.values("Vary")
        guard !values.isEmpty else { return [] }
        guard let elements = FieldParser.elements(of: values) else { return nil }
        var names: Set<String> = []
        for name in elements {
            guard name != "*", let name = name.asName else { return nil }
            names.insert(name)
        }
        names.remove("accept-encoding")
        return names.count <= mostNames ? names.sorted() : nil
    }

    /// Returns the variant of a request. `isParted` says whether the partition covers a field, by its name.
    static func of(_ request: HTTPHeaders, varyingOn names: [String], isParted: (String) -> Bool) -> CacheVariant {
        guard !names.isEmpty else { return .none }
        return CacheVariant(names: names, values: names.map { isParted($0) ? nil : value(of: $0, in: request) })
    }

    /// Returns whether a request with those headers is answered by the variant.
    func matches(_ request: HTTPHeaders, isParted: (String) -> Bool) -> Bool {
        names.indices.allSatisfy { isParted(names[$0]) || Self.value(of: names[$0], in: request) == values[$0] }
    }

    /// Returns the value of a field as it is compared.
    static func value(of name: String, in headers: HTTPHeaders) -> String? {
        let values = headers.values(name)
        guard !values.isEmpty else { return nil }
        return FieldParser.elements(of: values)?.joined(separator: ",") ?? values.joined(separator: "\n")
    }

    /// The number of bytes that it takes, about.
    var size: Int {
        names.reduce(0) { $0 + $1.utf8.count } + values.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
    }
}
