public import ErrandJSON
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A JSON object from a literal with variables of different types, at any depth.
///
///     let body: RequestBody = .json(["user": ["name": name, "age": age], "tags": tags])
///
/// A `nil` value is left out. The values of a list have one type; a list of objects is written as `[JSONObject]`:
///
///     let list: JSONObject = ["users": [["name": name], ["age": age]] as [JSONObject]]
public struct JSONObject: Sendable {
    private let members: Parameters

    fileprivate init(_ members: some Sequence<(String, (any JSONMember)?)>) {
        var parameters = Parameters()
        for (name, member) in members { parameters[name] = member?.encodable }
        self.members = parameters
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// Creates an object from a dictionary literal. Of members with the same name, the last one stays.
    public init(dictionaryLiteral members: (String, (any JSONMember)?)...) {
        self.init(members)
    }
}

extension JSONObject: Encodable, OpaqueReflectable {
    /// Encodes the members of the object.
    public func encode(to encoder: any Encoder) throws { try members.encode(to: encoder) }

    /// The names of the members. The values may be secret.
    public var description: String { "an object of \(members)" }
}

/// A type whose values can be members of a ``JSONObject``.
///
/// Your own `Encodable` types conform without further code:
///
///     extension Pet: JSONMember {}
public protocol JSONMember: Sendable {
    /// Returns what is encoded for a value; `nil` leaves the member out.
    ///
    /// A static method, so that numbers, texts and dates have no member of ours.
    static func encodableMember(of value: Self) -> (any Encodable & Sendable)?
}

extension JSONMember where Self: Encodable {
    /// Returns the value itself.
    public static func encodableMember(of value: Self) -> (any Encodable & Sendable)? { value }
}

extension JSONMember {
    /// What is encoded for the value.
    fileprivate var encodable: (any Encodable & Sendable)? { Self.encodableMember(of: self) }
}

extension Bool: JSONMember {}
extension String: JSONMember {}
extension Int: JSONMember {}
extension Int8: JSONMember {}
extension Int16: JSONMember {}
extension Int32: JSONMember {}
extension Int64: JSONMember {}
extension UInt: JSONMember {}
extension UInt8: JSONMember {}
extension UInt16: JSONMember {}
extension UInt32: JSONMember {}
extension UInt64: JSONMember {}
extension Float: JSONMember {}
extension Double: JSONMember {}
extension Decimal: JSONMember {}
extension Date: JSONMember {}
extension Data: JSONMember {}
extension URL: JSONMember {}
extension UUID: JSONMember {}
extension JSONValue: JSONMember {}
extension JSONObject: JSONMember {}
extension Parameters: JSONMember {}

extension Optional: JSONMember where Wrapped: JSONMember {
    /// Returns the value, if there is one.
    public static func encodableMember(of value: Wrapped?) -> (any Encodable & Sendable)? { value?.encodable }
}

extension Array: JSONMember where Element: JSONMember {
    /// Returns the elements; `null` for those without a value.
    public static func encodableMember(of value: [Element]) -> (any Encodable & Sendable)? {
        value.map { ListElement(value: $0.encodable) }
    }
}

// Only with these types: so the compiler gives the values of a literal in a literal the type of those around it.
extension Dictionary: JSONMember where Key == String, Value == any JSONMember {
    /// Returns the members as an object.
    public static func encodableMember(of value: [String: any JSONMember]) -> (any Encodable & Sendable)? {
        JSONObject(value.lazy.map { ($0.key, $0.value) })
    }
}

/// An element of a list: `null` if it has no value.
private struct ListElement: Encodable, Sendable {
    let value: (any Encodable & Sendable)?

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let value { try container.encode(value) } else { try container.encodeNil() }
    }
}
