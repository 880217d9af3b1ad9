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
        self.init(members: try FormValue(encoding: value, by: encoder), listMark: "[]")
    }

    /// Creates the parameters of a query from the members of a value, like the fields of a form, but with the plain
    /// name for each element of a list, as in a literal.
    fileprivate init(members value: FormValue, listMark: String) {
        self.init()
        add(value, named: "", listMark)
    }

    private mutating func add(_ value: FormValue, named name: String, _ listMark: String) {
        switch value {
        case .null: break
        case .text(let text): items.append(Item(name: name, value: text))
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

/// A value whose members are parameters of a query. They may be secret, and their names are not known before the value
/// is encoded.
struct QueryMembers: Sendable, OpaqueReflectable {
    let value: any Encodable & Sendable

    /// The type of the value.
    var description: String { "members of \(type(of: value))" }

    /// Returns the parameters.
    func query(encodedBy encoder: any RequestEncoder) throws(ServiceError) -> QueryItems {
        let members: FormValue
        do {
            members = try FormValue(encoding: value, by: (encoder as? JSONEncoder ?? JSONEncoder()).forQueries)
        } catch {
            throw ServiceError(error) {
                let reason = "the query cannot be encoded: \(RequestBody.explain($0))"
                return .invalidRequest(InvalidRequest(.query, reason))
            }
        }
        guard case .object = members else {
            let reason = "a value of \(type(of: value)) is not encoded as an object, so a query has no names for it"
            throw .invalidRequest(InvalidRequest(.query, reason))
        }
        return QueryItems(members: members, listMark: "")
    }
}

extension JSONEncoder {
    /// An encoder like this one, but with dates as a query has them, unless it has a format for them.
    fileprivate var forQueries: JSONEncoder {
        guard case .deferredToDate = dateEncodingStrategy else { return self }
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = keyEncodingStrategy
        encoder.dataEncodingStrategy = dataEncodingStrategy
        encoder.nonConformingFloatEncodingStrategy = nonConformingFloatEncodingStrategy
        encoder.userInfo = userInfo
        encoder.dateEncodingStrategy = .iso8601
        return encoder
    }
}

/// JSON whose numbers are texts: as parameters they must not lose digits.
private enum FormValue: Decodable {
    case null
    case text(String)
    case array([FormValue])
    case object([String: FormValue])

    init(encoding value: some Encodable, by encoder: JSONEncoder) throws {
        self = try JSONDecoder().decode(FormValue.self, from: encoder.encode(value))
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // An error here says only that the value is of another kind.
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .text("\(value)")
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode(Int128.self) {
            self = .text("\(value)")
        } else if let value = try? container.decode(Double.self) {
            let exact = try? container.decode(Decimal.self)
            self = .text(exact.map { Double("\($0)") == value ? "\($0)" : "\(value)" } ?? "\(value)")
        } else if let elements = try? container.decode([FormValue].self) {
            self = .array(elements)
        } else {
            self = .object(try container.decode([String: FormValue].self))
        }
    }
}
