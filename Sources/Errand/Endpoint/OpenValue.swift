/// A value of an enumeration, or another one that the server has begun to use since.
///
///     enum Status: String, Sendable { case active, closed }
///
/// With the enumeration alone, a response with another status could not be decoded. This keeps it:
///
///     struct Membership: Decodable, Sendable {
///         let status: Open<Status>
///     }
///
/// It has the case, or the raw value:
///
///     switch membership.status {
///     case .known(.active): print("active")
///     case .known(.closed): print("closed")
///     case .unknown(let text): print("something new: \(text)")
///     }
///
/// It is encoded as its raw value, also one that is not known, so nothing is lost if it is sent back.
public enum Open<Known: RawRepresentable & Sendable>: Sendable where Known.RawValue: Sendable {
    /// A case of the enumeration.
    case known(Known)
    /// Any other raw value.
    case unknown(Known.RawValue)

    /// The case of the enumeration; `nil` if the value is not known.
    public var value: Known? {
        switch self {
        case .known(let value): value
        case .unknown: nil
        }
    }
}

extension Open: RawRepresentable {
    /// Creates a value from a raw value, known or not.
    public init(rawValue: Known.RawValue) {
        self = Known(rawValue: rawValue).map(Open.known) ?? .unknown(rawValue)
    }

    /// The raw value.
    public var rawValue: Known.RawValue {
        switch self {
        case .known(let value): value.rawValue
        case .unknown(let value): value
        }
    }
}

extension Open: Decodable where Known.RawValue: Decodable {
    /// Decodes any raw value.
    public init(from decoder: any Decoder) throws {
        self.init(rawValue: try decoder.singleValueContainer().decode(Known.RawValue.self))
    }
}

extension Open: Encodable where Known.RawValue: Encodable {
    /// Encodes the raw value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

extension Open: Equatable where Known.RawValue: Equatable {
    /// Returns whether the raw values are equal.
    public static func == (left: Open, right: Open) -> Bool { left.rawValue == right.rawValue }

    /// Returns whether the value is that case of the enumeration.
    public static func == (left: Open, right: Known) -> Bool { left.rawValue == right.rawValue }

    /// Returns whether the value is another than that case of the enumeration.
    public static func != (left: Open, right: Known) -> Bool { !(left == right) }
}

extension Open: Hashable where Known.RawValue: Hashable {
    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}

extension Open: QueryValue where Known.RawValue: QueryValue {}
extension Open: JSONMember where Known.RawValue: JSONMember & Encodable {}
