import Testing

/// Secrets in every place where a user may have some.
package enum Planted {
    package static let access = "access-4f7d1c"
    package static let refresh = "refresh-9a2b3e"
    package static let password = "hunter2-7c"
    package static let apiKey = "key-51f0aa"
    package static let basic = "Basic cm9vdDpodW50ZXI"
    package static let partner = "partner-88d1"
    /// The secrets that the call below sends.
    package static let sent = [access, password, apiKey, "cm9vdDpodW50ZXI", partner]
    package static let all = sent + [refresh]
}

/// Returns everything that can be printed of a value.
package func printed(_ value: Any) -> String {
    var text = "\(value)\n" + String(reflecting: value) + "\n" + String(describing: [value])
    dump(value, to: &text)
    return text
}

/// Records an issue for each planted secret in the text.
package func expectNoSecret(
    _ text: String, _ place: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column
) {
    // The macro for a location is not there for targets that are no tests.
    let location = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    for secret in Planted.all where text.contains(secret) {
        Issue.record("\(secret) is in \(place): \(text)", sourceLocation: location)
    }
}
