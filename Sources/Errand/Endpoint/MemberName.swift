/// The name of a member of a JSON object that no type declares.
struct MemberName: CodingKey, ExpressibleByStringLiteral {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init(stringLiteral name: String) { stringValue = name }
    init?(intValue: Int) { nil }
}
