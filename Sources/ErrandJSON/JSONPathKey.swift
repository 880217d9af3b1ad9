/// An element of a coding path that no model has declared.
enum JSONPathKey: CodingKey {
    /// No element: the value is at the path of its decoder.
    case none
    case index(Int)
    case name(String)
    /// A key of a dictionary, which is a number too if it is written like one.
    case member(String)

    init(stringValue: String) { self = .name(stringValue) }
    init(intValue: Int) { self = .index(intValue) }

    var stringValue: String {
        switch self {
        case .none: ""
        case .index(let index): "Index \(index)"
        case .name(let name), .member(let name): name
        }
    }

    var intValue: Int? {
        switch self {
        case .none, .name: nil
        case .index(let index): index
        case .member(let name): Int(name)
        }
    }

    var isNone: Bool { if case .none = self { true } else { false } }

    static let `super` = JSONPathKey.name("super")
}
