#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The parameters of a query, in order; names may repeat.
///
///     let query: QueryItems = ["sort": "name", "page": page, "tag": ["a", "b"], "since": nil]
///
/// A `nil` value leaves its name out, an array repeats it. Names and values are escaped so that every server reads
/// back what was given. Where the names are known at run time only, `add` and `items` make one.
public struct QueryItems: Sendable, Hashable {
    /// One parameter.
    public struct Item: Sendable, Hashable {
        /// The name, not escaped.
        public var name: String
        /// The value, not escaped.
        public var value: String

        /// Makes a parameter.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The parameters, in order.
    public var items: [Item]

    /// Makes a query of those parameters.
    public init(_ items: [Item] = []) {
        self.items = items
    }

    /// Adds a parameter, once for each of its values.
    public mutating func add(_ name: String, _ value: (any QueryValue)?) {
        for text in value?.queryTexts ?? [] { items.append(Item(name: name, value: text)) }
    }

    /// The query as it is sent, in the form that HTML forms use for their bodies too, with a space as `%20`.
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

extension QueryItems: ExpressibleByDictionaryLiteral, CustomStringConvertible, CustomReflectable {
    /// A query written as a dictionary; names may repeat.
    public init(dictionaryLiteral elements: (String, (any QueryValue)?)...) {
        self.init()
        for (name, value) in elements { add(name, value) }
    }

    /// The query with the values of secret parameters left out.
    public var description: String { Redactor.standard.text(ofQuery: encoded) }
    /// Shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["query": description]) }
}

extension QueryItems.Item: CustomStringConvertible, CustomReflectable {
    /// The parameter, without its value if that is a secret.
    public var description: String { QueryItems([self]).description }
    /// Shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["item": description]) }
}

/// A value that can stand in a query.
public protocol QueryValue: Sendable {
    /// The value as text; several texts repeat the name.
    var queryTexts: [String] { get }
}

extension QueryValue where Self: CustomStringConvertible {
    /// The description.
    public var queryTexts: [String] { [description] }
}

extension QueryValue where Self: RawRepresentable, RawValue: QueryValue {
    /// The raw value.
    public var queryTexts: [String] { rawValue.queryTexts }
}

extension String: QueryValue {}
extension Substring: QueryValue {}
extension Bool: QueryValue {}
extension Int: QueryValue {}
extension Int32: QueryValue {}
extension Int64: QueryValue {}
extension UInt: QueryValue {}
extension UInt32: QueryValue {}
extension UInt64: QueryValue {}
extension Double: QueryValue {}
extension Float: QueryValue {}
extension UUID: QueryValue {}
extension URL: QueryValue {
    /// The URL as a whole.
    public var queryTexts: [String] { [absoluteString] }
}
extension Date: QueryValue {
    /// The moment by ISO 8601, in UTC and to the second: `2026-11-22T10:30:00Z`.
    public var queryTexts: [String] { [formatted(.iso8601)] }
}
extension Array: QueryValue where Element: QueryValue {
    /// The texts of the elements.
    public var queryTexts: [String] { flatMap(\.queryTexts) }
}
