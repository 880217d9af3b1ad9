/// Something that a test should fail for: a request that no script expects, a reply that no request has used, or a
/// clock that nobody advances.
public struct TestFailure: Error, Sendable, CustomStringConvertible {
    /// A line of source code.
    public struct Location: Sendable, CustomStringConvertible {
        /// The module and the name of the file, as in `#fileID`.
        public let fileID: StaticString
        /// The path of the file.
        public let filePath: StaticString
        /// The line, from 1.
        public let line: Int
        /// The column, from 1.
        public let column: Int

        /// Creates a location.
        public init(fileID: StaticString, filePath: StaticString, line: Int, column: Int) {
            self.fileID = fileID
            self.filePath = filePath
            self.line = line
            self.column = column
        }

        /// The name of the file and the line: `FriendsTests.swift:12`.
        public var description: String {
            let name = fileID.description
            return "\(name.split(separator: "/").last.map(String.init) ?? name):\(line)"
        }
    }

    /// What has happened, for the reader of the test's log. It may have several lines.
    public let description: String
    /// The line of the script that is concerned; `nil` if it is none.
    public let location: Location?

    init(_ description: String, at location: Location? = nil) {
        self.description = description
        self.location = location
    }
}
