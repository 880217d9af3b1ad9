import ErrandJSON
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension RequestBody {
    /// Creates a body with what differs between two versions of a value: a JSON Merge Patch (RFC 7396).
    ///
    ///     var changed = user
    ///     changed.email = nil
    ///     try await client.run(.patch("users/7", body: .mergePatch(from: user, to: changed)))  // {"email":null}
    ///
    /// Members that are the same are left out, those that are missing in the new version are `null`, and a list that
    /// differs is sent as a whole. If nothing differs, the body is `{}`. The client's encoder determines the names and
    /// the format of dates. A merge patch cannot set a member to `null`: that removes it.
    ///
    /// A value that is not encoded as an object makes the call fail with `.invalidRequest`.
    public static func mergePatch<Value: Encodable & Sendable>(from old: Value, to new: Value) -> RequestBody {
        RequestBody("a merge patch of \(Value.self)", as: "application/merge-patch+json") { encoder in
            func members(of value: Value) throws -> PatchNode.Members {
                guard let node = PatchNode(json: try encoder.encode(value)), case .object(let members) = node else {
                    throw ServiceError.invalidRequest(
                        InvalidRequest(.body, "a merge patch is between objects; \(Value.self) is not encoded as one"))
                }
                return members
            }
            let patch = PatchNode.object(try members(of: new).patch(since: try members(of: old)))
            var json: [UInt8] = []
            patch.write(to: &json)
            return Data(json)
        }
    }
}

/// A JSON value whose numbers are as they were written, so that none loses a digit.
private indirect enum PatchNode: Equatable {
    /// The members of an object, in order.
    struct Members: Equatable {
        private(set) var names: [[UInt8]] = []
        private var values: [[UInt8]: PatchNode] = [:]

        subscript(name: [UInt8]) -> PatchNode? { values[name] }

        mutating func set(_ name: [UInt8], to value: PatchNode) {
            if values.updateValue(value, forKey: name) == nil { names.append(name) }
        }
    }

    /// `null`, a truth value or a number.
    case token(String)
    /// The bytes of a text: texts that only look the same differ.
    case text([UInt8])
    case list([PatchNode])
    case object(Members)

    /// Reads a value; `nil` if the encoder has not written JSON.
    init?(json: Data) {
        // Then it is not an object either, which the caller says.
        guard let node = try? FastJSONDecoder().read(json, { try PatchNode($0) }) else { return nil }
        self = node
    }

    private init(_ node: JSONNode) throws {
        if let token = node.token {
            self = .token(token)
        } else if node.isArray {
            var list: [PatchNode] = []
            try node.forEachElement { list.append(try PatchNode($0)) }
            self = .list(list)
        } else if node.isObject {
            var members = Members()
            try node.forEachMember { members.set(Array($0.utf8), to: try PatchNode($1)) }
            self = .object(members)
        } else {
            self = .text(Array((try node.text() ?? "").utf8))
        }
    }

    func write(to json: inout [UInt8]) {
        switch self {
        case .token(let token): json += token.utf8
        case .text(let text): json.append(asJSONText: text)
        case .list(let list): json.append(asJSONListOf: list) { $0.write(to: &$1) }
        case .object(let members):
            json.append(asJSONListOf: members.names, between: (UInt8(ascii: "{"), UInt8(ascii: "}"))) { name, json in
                json.append(asJSONText: name)
                json.append(UInt8(ascii: ":"))
                members[name]?.write(to: &json)
            }
        }
    }
}

extension PatchNode.Members {
    /// Returns the members that make these from the earlier ones.
    fileprivate func patch(since earlier: Self) -> Self {
        var patch = Self()
        for name in names {
            guard let new = self[name], new != earlier[name] else { continue }
            if case .object(let members) = new, case .object(let old)? = earlier[name] {
                patch.set(name, to: .object(members.patch(since: old)))
            } else {
                patch.set(name, to: new)
            }
        }
        for name in earlier.names where self[name] == nil { patch.set(name, to: .token("null")) }
        return patch
    }
}
