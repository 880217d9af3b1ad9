/// Named values whose place depends on the method: in the query, or in a JSON body.
///
///     Endpoint<User>(.post, "friends", parameters: ["user_id": 5, "category": "family"])
///
/// A `nil` value is left out. Setting a name again replaces its value.
public struct Parameters: Sendable {
    private(set) var items: [(name: String, value: any Encodable & Sendable)] = []

    /// Creates empty parameters.
    public init() {}

    /// The value with that name; `nil` if there is none.
    public subscript(_ name: String) -> (any Encodable & Sendable)? {
        get { items.first { $0.name == name }?.value }
        set {
            items.removeAll { $0.name == name }
            if let newValue { items.append((name, newValue)) }
        }
    }

    /// Whether there are no parameters.
    public var isEmpty: Bool { items.isEmpty }

    /// Returns these parameters, and those of `others` whose names these do not have.
    func merged(over others: Parameters) -> Parameters {
        guard !others.isEmpty else { return self }
        var merged = others
        for item in items { merged[item.name] = item.value }
        return merged
    }

    /// Returns the parameters as a query. Throws if a value is neither text, a number, a Boolean nor an array of those.
    func query() throws(ServiceError) -> QueryItems {
        var query = QueryItems()
        for (name, value) in items {
            guard let value = value as? any QueryValue else {
                let reason =
                    "the parameter \(HTTPSyntax.quoted(name)) is a \(type(of: value)), which a query cannot contain"
                throw .invalidRequest(InvalidRequest(.query, reason))
            }
            query.add(name, value)
        }
        return query
    }
}

extension Parameters: ExpressibleByDictionaryLiteral, Encodable, OpaqueReflectable {
    /// Creates parameters from a dictionary literal.
    public init(dictionaryLiteral elements: (String, (any Encodable & Sendable)?)...) {
        for (name, value) in elements { self[name] = value }
    }

    /// Encodes the parameters as the members of one object.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: MemberName.self)
        for (name, value) in items { try container.encode(value, forKey: MemberName(stringValue: name)) }
    }

    /// The names. The values may be secret.
    public var description: String { "parameters \(items.map(\.name).joined(separator: ", "))" }
}

/// The name of a member of a JSON object that no type declares.
struct MemberName: CodingKey, ExpressibleByStringLiteral {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init(stringLiteral name: String) { stringValue = name }
    init?(intValue: Int) { nil }
}
