/// The parts of a header field that is a list, a dictionary or an item of structured fields (RFC 9651).
///
/// A field that breaks a rule of the standard anywhere counts as missing, all of it, because the standard says so:
/// clients that repaired such fields would not agree on what they mean. So does a field with more parts than the
/// standard asks a client to read.
struct StructuredField {
    /// The most members of a list or a dictionary.
    private static let mostMembers = 1024
    /// The most parameters of a member, and the most items of an inner list.
    static let mostParts = 256

    /// A value.
    enum Value: Sendable, Hashable {
        case integer(Int64)
        /// A number with up to three digits after its point, in thousandths.
        case decimal(thousandths: Int64)
        case string(String)
        case token(String)
        case bytes([UInt8])
        case boolean(Bool)
        /// A date in seconds since 1970.
        case date(Int64)
        /// Text that may have any character of Unicode.
        case displayString(String)
        /// The items of an inner list, none of which is a list itself.
        case list([Member])
    }

    /// A member of a list or a dictionary, or an item.
    struct Member: Sendable, Hashable {
        /// The key of a dictionary's member; otherwise `nil`.
        var key: String?
        /// A key by itself is true.
        var value = Value.boolean(true)
        var parameters: [String: Value] = [:]
    }

    /// Returns the item, given as the values of all fields with the name; `nil` if it is none.
    static func item(_ values: [String]) -> Member? {
        var parser = parser(of: values)
        guard let item = parser.structuredItem(), parser.isAtEnd else { return nil }
        return item
    }

    /// Returns the members of a list, given as the values of all fields with the name; `nil` if it is none.
    static func list(_ values: [String]) -> [Member]? {
        members(of: values) { $0.structuredMember() }
    }

    /// Returns the members of a dictionary, in the order in which their keys first appear; `nil` if it is none. Of a
    /// key that repeats, the last member counts.
    static func dictionary(_ values: [String]) -> [Member]? {
        let members = members(of: values) { parser in
            guard let key = parser.structuredKey() else { return nil }
            guard parser.skip(UInt8(ascii: "=")) else {
                return parser.structuredParameters().map { Member(key: key, parameters: $0) }
            }
            guard var member = parser.structuredMember() else { return nil }
            member.key = key
            return member
        }
        guard let members else { return nil }
        var places: [String?: Int] = [:]
        var last: [Member] = []
        for member in members {
            if let place = places[member.key] {
                last[place] = member
            } else {
                places[member.key] = last.count
                last.append(member)
            }
        }
        return last
    }

    /// Reads members with commas between them; none may follow the last.
    private static func members(of values: [String], _ member: (inout FieldParser) -> Member?) -> [Member]? {
        var parser = parser(of: values)
        var members: [Member] = []
        while !parser.isAtEnd {
            guard members.count < mostMembers, let member = member(&parser) else { return nil }
            members.append(member)
            parser.skipSpaces()
            if parser.isAtEnd { break }
            guard parser.skip(UInt8(ascii: ",")) else { return nil }
            parser.skipSpaces()
            guard !parser.isAtEnd else { return nil }
        }
        return members
    }

    private static func parser(of values: [String]) -> FieldParser {
        let values = values.map(\.trimmed).filter { !$0.isEmpty }
        return FieldParser(values.count == 1 ? values[0] : values.joined(separator: ", "))
    }
}
