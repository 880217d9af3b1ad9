#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Changes of a JSON document, one after the other: a JSON Patch (RFC 6902).
///
///     let patch: JSONPatch = [.test("/version", 3), .replace("/title", "Milk"), .remove("/tags/0")]
///     try await client.run(.patch("notes/7", body: .jsonPatch(patch)))
///
/// The server applies all of them or none.
public struct JSONPatch: Sendable {
    /// The operations, in the order in which they are applied.
    public var operations: [Operation]

    /// Creates a patch from operations.
    public init(_ operations: [Operation] = []) { self.operations = operations }
}

extension JSONPatch {
    /// One change, or a condition for all of them.
    public struct Operation: Sendable {
        fileprivate let name: String
        fileprivate let path: Pointer
        fileprivate var from: Pointer?
        fileprivate var value: (any Encodable & Sendable)?

        /// Adds a member, or replaces one; in a list, inserts an element before that index, or with `-` at the end.
        public static func add(_ path: Pointer, _ value: some Encodable & Sendable) -> Operation {
            Operation(name: "add", path: path, value: value)
        }
        /// Removes what must be there.
        public static func remove(_ path: Pointer) -> Operation { Operation(name: "remove", path: path) }
        /// Replaces what must be there.
        public static func replace(_ path: Pointer, _ value: some Encodable & Sendable) -> Operation {
            Operation(name: "replace", path: path, value: value)
        }
        /// Moves a value.
        public static func move(from source: Pointer, to path: Pointer) -> Operation {
            Operation(name: "move", path: path, from: source)
        }
        /// Copies a value.
        public static func copy(from source: Pointer, to path: Pointer) -> Operation {
            Operation(name: "copy", path: path, from: source)
        }
        /// Applies the patch only if the value there is equal.
        public static func test(_ path: Pointer, _ value: some Encodable & Sendable) -> Operation {
            Operation(name: "test", path: path, value: value)
        }
    }

    /// A place in a JSON document (RFC 6901): `/tags/0`; an empty one is the document.
    ///
    /// What is interpolated is one name, whatever it contains: `"/settings/\(key)"`.
    public struct Pointer: Sendable, Hashable, ExpressibleByStringInterpolation {
        fileprivate let text: String

        /// Creates a pointer from a literal, in which `~` is written as `~0`.
        public init(stringLiteral text: String) { self.text = text }
        /// Creates a pointer from literal parts and names.
        public init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }
        /// Creates a pointer from the names of members and the indexes of elements, the outermost first.
        public init(_ names: [String]) { text = names.map { "/" + Self.escaped($0) }.joined() }

        fileprivate static func escaped(_ name: String) -> String {
            // By bytes: with a combining mark after it, a slash is another character.
            var escaped: [UInt8] = []
            for byte in name.utf8 {
                switch byte {
                case UInt8(ascii: "~"): escaped += "~0".utf8
                case UInt8(ascii: "/"): escaped += "~1".utf8
                default: escaped.append(byte)
                }
            }
            return String(decoding: escaped, as: UTF8.self)
        }

        /// Whether it begins with a slash, or is empty, and each `~` is that of an escape.
        fileprivate var isValid: Bool {
            guard text.isEmpty || text.utf8.first == UInt8(ascii: "/") else { return false }
            return text.utf8.split(separator: UInt8(ascii: "~"), omittingEmptySubsequences: false).dropFirst()
                .allSatisfy { $0.first == UInt8(ascii: "0") || $0.first == UInt8(ascii: "1") }
        }

        /// Collects the parts of a pointer.
        public struct StringInterpolation: StringInterpolationProtocol {
            fileprivate var text = ""

            /// Creates an empty one.
            public init(literalCapacity: Int, interpolationCount: Int) {}
            /// Adds a part as it is.
            public mutating func appendLiteral(_ literal: String) { text += literal }
            /// Adds a name, or a part of one.
            public mutating func appendInterpolation(_ name: some CustomStringConvertible) {
                text += Pointer.escaped(name.description)
            }
        }
    }
}

extension JSONPatch: ExpressibleByArrayLiteral {
    /// Creates a patch from operations.
    public init(arrayLiteral operations: Operation...) { self.init(operations) }
}

extension JSONPatch.Operation {
    /// Writes the operation. Only the value is the encoder's, which may change the names of members.
    fileprivate func write(to json: inout [UInt8], by encoder: any RequestEncoder) throws {
        for pointer in [path, from].compactMap(\.self) where !pointer.isValid {
            let reason = "\(HTTPSyntax.quoted(pointer.text)) is not a JSON pointer, which is like `/tags/0`"
            throw ServiceError.invalidRequest(InvalidRequest(.body, reason))
        }
        json += #"{"op":"\#(name)","path":"#.utf8
        json.append(asJSONText: path.text.utf8)
        if let from {
            json += #","from":"#.utf8
            json.append(asJSONText: from.text.utf8)
        }
        if let value { json += #","value":"#.utf8 + (try encoder.encode(value)) }
        json.append(UInt8(ascii: "}"))
    }
}

extension RequestBody {
    /// Creates a body from changes of a JSON document: a JSON Patch (RFC 6902).
    ///
    /// A value is encoded by the client's encoder; `null` is ``JSONValue/null``. A path that is no JSON pointer makes
    /// the call fail with `.invalidRequest`.
    public static func jsonPatch(_ patch: JSONPatch) -> RequestBody {
        RequestBody("a JSON patch of \(patch.operations.count) operations", as: "application/json-patch+json") {
            (encoder: any RequestEncoder) throws -> Data in
            var json: [UInt8] = []
            try json.append(asJSONListOf: patch.operations) { try $0.write(to: &$1, by: encoder) }
            return Data(json)
        }
    }
}

extension JSONPatch.Operation: OpaqueReflectable {
    /// The kind of the change. Its place and its value may be secret.
    public var description: String { name }
}
