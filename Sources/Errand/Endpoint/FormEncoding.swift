#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension QueryItems {
    /// Creates the fields of a form from the members of a value, sorted by name: `metadata[key]` for the members of an
    /// inner object, `tags[]` for each element of a list, `items[0][name]` if the elements have members. A `null` is
    /// left out.
    init(form value: some Encodable, encodedBy encoder: JSONEncoder) throws {
        self.init(members: try JSONValue(encoding: value, by: encoder), listMark: "[]")
    }

    /// Creates the parameters of a query from the members of a value, like the fields of a form, but with the plain
    /// name for each element of a list, as in a literal. Returns `nil` if the value is not encoded as an object.
    init?(query value: some Encodable, encodedBy encoder: JSONEncoder) throws {
        let value = try JSONValue(encoding: value, by: encoder)
        guard case .object = value else { return nil }
        self.init(members: value, listMark: "")
    }

    private init(members value: JSONValue, listMark: String) {
        self.init()
        add(value, named: "", listMark)
    }

    private mutating func add(_ value: JSONValue, named name: String, _ listMark: String) {
        switch value {
        case .null: break
        case .bool(let value): items.append(Item(name: name, value: "\(value)"))
        case .integer(let value): items.append(Item(name: name, value: "\(value)"))
        case .number(let value): items.append(Item(name: name, value: "\(value)"))
        case .string(let value): items.append(Item(name: name, value: value))
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                switch element {
                case .array, .object: add(element, named: "\(name)[\(index)]", listMark)
                default: add(element, named: name + listMark, listMark)
                }
            }
        case .object(let members):
            for (key, member) in members.sorted(by: { $0.key < $1.key }) {
                add(member, named: name.isEmpty ? key : "\(name)[\(key)]", listMark)
            }
        }
    }
}

extension JSONValue {
    fileprivate init(encoding value: some Encodable, by encoder: JSONEncoder) throws {
        self = try JSONDecoder().decode(JSONValue.self, from: encoder.encode(value))
    }
}
