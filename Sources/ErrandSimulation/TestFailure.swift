/// Something that a test should fail for: a request that no script expects, a reply that no request has used, or a
/// clock that is not advanced.
public struct TestFailure: Error, Sendable, CustomStringConvertible {
    /// A line of source code.
    public struct Location: Sendable, CustomStringConvertible {
        /// The path of the file.
        public let file: StaticString
        /// The line, from 1.
        public let line: UInt

        /// Creates a location.
        public init(file: StaticString, line: UInt) {
            self.file = file
            self.line = line
        }

        /// The name of the file and the line: `FriendsTests.swift:12`.
        public var description: String {
            let path = file.description
            return "\(path.split(separator: "/").last.map(String.init) ?? path):\(line)"
        }
    }

    /// What has happened, for the reader of the test's log. It may have several lines.
    public let description: String
    /// The line of the script that is concerned; `nil` if it is none.
    public let location: Location?
    /// Whether it is only a hint, which should not fail the test: virtual time has passed while calls waited for a
    /// permit, and the limit of their client was not set.
    public let isWarning: Bool

    /// The index of the script that is nearest to an unexpected request; `nil` if there is none.
    var nearestScript: Int?

    init(_ description: String, at location: Location? = nil, isWarning: Bool = false) {
        self.description = description
        self.location = location
        self.isWarning = isWarning
    }
}
