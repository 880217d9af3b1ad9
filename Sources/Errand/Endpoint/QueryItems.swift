#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The parameters of a query, in order; names may repeat.
///
///     let query: QueryItems = ["sort": "name", "page": page, "tag": ["a", "b"], "since": nil]
///
/// A `nil` value leaves its name out, an array repeats the name. Names and values are escaped so that every server
/// decodes the original text. Use `add(_:_:)` or `items` for names that are known only at run time.
public struct QueryItems: Sendable, Hashable {
    /// One parameter.
    public struct Item: Sendable, Hashable {
        /// The name, unescaped.
        public var name: String
        /// The value, unescaped.
        public var value: String

        /// Creates a parameter.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The parameters, in order.
    public var items: [Item]

    /// Creates a query with those parameters.
    public init(_ items: [Item] = []) {
        self.items = items
    }

    /// Adds a parameter, once for each of its values.
    public mutating func add(_ name: String, _ value: (any QueryValue)?) {
        for text in value?.texts ?? [] { items.append(Item(name: name, value: text)) }
    }

    /// Adds those parameters, except those whose names it has.
    mutating func add(_ other: QueryItems) {
        let names = Set(items.map(\.name))
        items += other.items.filter { !names.contains($0.name) }
    }

    /// The encoded query, in the format that HTML forms also use for their bodies, with a space as `%20`.
    package var encoded: String {
        var text = ""
        for item in items {
            if !text.isEmpty { text += "&" }
            text += PercentEncoding.queryPart.encode(item.name)
            text += "="
            text += PercentEncoding.queryPart.encode(item.value)
        }
        return text
    }
}

extension QueryItems: ExpressibleByDictionaryLiteral, OpaqueReflectable {
    /// Creates a query from a dictionary literal. Names may repeat.
    public init(dictionaryLiteral elements: (String, (any QueryValue)?)...) {
        self.init()
        for (name, value) in elements { add(name, value) }
    }

    /// The query with the values of secret parameters redacted.
    public var description: String { Redactor.standard.text(ofQuery: encoded) }
}

extension QueryItems.Item: OpaqueReflectable {
    /// The parameter; its value is redacted if it is secret.
    public var description: String { QueryItems([self]).description }
}

/// A type whose values a query can hold.
///
/// Your own types conform without further code if they have a raw value or a description.
public protocol QueryValue: Sendable {
    /// Returns a value as text. Several texts repeat the name.
    ///
    /// A static method, so that numbers, texts and dates have no member of ours.
    static func queryTexts(of value: Self) -> [String]
}

extension QueryValue where Self: CustomStringConvertible {
    /// Returns the description.
    public static func queryTexts(of value: Self) -> [String] { [value.description] }
}

extension QueryValue where Self: RawRepresentable, RawValue: QueryValue {
    /// Returns the raw value as text.
    public static func queryTexts(of value: Self) -> [String] { RawValue.queryTexts(of: value.rawValue) }
}

extension QueryValue {
    /// The value as text.
    var texts: [String] { Self.queryTexts(of: self) }
}

extension String: QueryValue {}
extension Substring: QueryValue {}
extension Bool: QueryValue {}
extension Int: QueryValue {}
extension Int8: QueryValue {}
extension Int16: QueryValue {}
extension Int32: QueryValue {}
extension Int64: QueryValue {}
extension Int128: QueryValue {}
extension UInt: QueryValue {}
extension UInt8: QueryValue {}
extension UInt16: QueryValue {}
extension UInt32: QueryValue {}
extension UInt64: QueryValue {}
extension UInt128: QueryValue {}
extension Double: QueryValue {}
extension Float: QueryValue {}
extension Decimal: QueryValue {}
extension UUID: QueryValue {}
extension URL: QueryValue {
    /// Returns the absolute URL.
    public static func queryTexts(of value: URL) -> [String] { [value.absoluteString] }
}
extension Date: QueryValue {
    /// Returns the date in ISO 8601, in UTC and to the second: `2026-11-22T10:30:00Z`.
    public static func queryTexts(of value: Date) -> [String] { [value.formatted(.iso8601)] }
}
extension Array: QueryValue where Element: QueryValue {
    /// Returns the texts of the elements.
    public static func queryTexts(of value: [Element]) -> [String] { value.flatMap(\.texts) }
}

extension HTTPURL {
    /// Returns the query with those parameters, which replace parameters with the same names: a server often repeats
    /// the parameters of the request in its next URL, and the client's own must be neither duplicated nor out of date.
    func query(replacing items: [QueryItems.Item]) -> String? {
        let names = Set(items.map(\.name))
        let kept = names.isEmpty ? query : query(keeping: { name, _ in !names.contains(name) })
        guard !items.isEmpty else { return kept }
        let added = QueryItems(items).encoded
        guard let kept, !kept.isEmpty else { return added }
        return "\(kept)&\(added)"
    }

    /// Returns the URL without the parameters with those names.
    func removing(_ names: Set<String>) -> HTTPURL {
        names.isEmpty ? self : removing(where: { name, _ in names.contains(name) })
    }

    /// Returns the URL without the parameters for which the closure, which gets their names and values unescaped,
    /// returns `true`.
    func removing(where isGone: (_ name: String, _ value: String) -> Bool) -> HTTPURL {
        HTTPURL(origin: origin, path: path, query: query(keeping: { !isGone($0, $1) }), secretNames: secretNames)
    }

    /// The rest stays as it was written: for the server it may be signed text.
    private func query(keeping isKept: (_ name: String, _ value: String) -> Bool) -> String? {
        guard let query else { return nil }
        func decoded(_ part: Substring) -> String { PercentEncoding.decode(part.replacing("+", with: " ")) }
        let kept = query.split(separator: "&", omittingEmptySubsequences: false).filter { pair in
            let name = pair.prefix(before: "=")
            let value = Substring(pair.utf8.dropFirst(name.utf8.count + 1))
            return isKept(decoded(name), decoded(value))
        }
        return kept.isEmpty ? nil : kept.joined(separator: "&")
    }
}
