/// Named values that go where the method wants them: into the query, or into a JSON body.
///
///     Endpoint<User>(.post, "friends", parameters: ["user_id": 5, "category": "family"])
///
/// A value that is `nil` is left out. Setting a name again replaces its value.
public struct Parameters: Sendable {
    private(set) var items: [(name: String, value: any Encodable & Sendable)] = []

    /// Makes parameters without any.
    public init() {}

    /// The value of that name.
    public subscript(_ name: String) -> (any Encodable & Sendable)? {
        get { items.first { $0.name == name }?.value }
        set {
            items.removeAll { $0.name == name }
            if let newValue { items.append((name, newValue)) }
        }
    }

    /// Whether there are none.
    public var isEmpty: Bool { items.isEmpty }

    /// These and, for names that these do not have, those.
    func merged(over others: Parameters) -> Parameters {
        guard !others.isEmpty else { return self }
        var merged = others
        for item in items { merged[item.name] = item.value }
        return merged
    }

    /// The parameters as a query; a value that is neither text, number, truth value nor an array of those cannot
    /// stand in one.
    func query() throws(ServiceError) -> QueryItems {
        var query = QueryItems()
        for (name, value) in items {
            guard let value = value as? any QueryValue else {
                let reason =
                    "the parameter \(HTTPSyntax.quoted(name)) is a \(type(of: value)), which cannot stand in a query"
                throw .invalidRequest(InvalidRequest(.query, reason))
            }
            query.add(name, value)
        }
        return query
    }
}

extension Parameters: ExpressibleByDictionaryLiteral, Encodable, CustomStringConvertible, CustomReflectable {
    /// Parameters written as a dictionary.
    public init(dictionaryLiteral elements: (String, (any Encodable & Sendable)?)...) {
        for (name, value) in elements { self[name] = value }
    }

    /// The parameters as the members of one object.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: MemberName.self)
        for (name, value) in items { try container.encode(value, forKey: MemberName(stringValue: name)) }
    }

    /// The names; values may be secrets.
    public var description: String { "parameters \(items.map(\.name).joined(separator: ", "))" }
    /// Shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["names": items.map(\.name)]) }
}
