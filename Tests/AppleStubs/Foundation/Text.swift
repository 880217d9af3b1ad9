// Declarations of Apple's, without a behavior: see Tests/AppleStubs/README.md.
// swift-format-ignore-file

// https://developer.apple.com/documentation/foundation/characterset
public struct CharacterSet: Sendable, Hashable {
    public static var whitespaces: CharacterSet { CharacterSet() }
    public static var whitespacesAndNewlines: CharacterSet { CharacterSet() }
}

// https://developer.apple.com/documentation/swift/stringprotocol
extension StringProtocol {
    public func trimmingCharacters(in set: CharacterSet) -> String { "" }
    public func replacingOccurrences<Target: StringProtocol, Replacement: StringProtocol>(
        of target: Target, with replacement: Replacement
    ) -> String { "" }
    public var removingPercentEncoding: String? { nil }
}

extension String {
    // https://developer.apple.com/documentation/swift/string/init(format:_:)
    public init(format: String, _ arguments: any CVarArg...) { self = "" }
    // https://developer.apple.com/documentation/swift/string/localizedstringwithformat(_:_:)
    public static func localizedStringWithFormat(_ format: String, _ arguments: any CVarArg...) -> String { "" }
}
