import ErrandSimulation
#if canImport(Testing)
import Testing
#endif
#if canImport(XCTest)
import XCTest
#endif

/// Reports failures to the test that runs, in Swift Testing or in XCTest.
struct TestReporter: Sendable {
    /// The line that has created the transport or the clock, for failures without a line of their own.
    private let creation: TestFailure.Location
    #if canImport(Testing)
    private let isOfSwiftTesting = Test.current != nil
    #endif

    init(_ creation: TestFailure.Location) {
        self.creation = creation
    }

    func callAsFunction(_ failure: TestFailure) {
        if failure.isWarning { return warn(failure) }
        #if canImport(Testing)
        let location = failure.location.map(SourceLocation.init) ?? Test.current?.sourceLocation
        Issue.record(
            Comment(rawValue: failure.description), sourceLocation: location ?? SourceLocation(creation))
        // A task that a test has detached does not know its test. Then both frameworks receive the issue, since each
        // ignores issues while the other runs.
        if isOfSwiftTesting || Test.current != nil { return }
        #endif
        #if canImport(XCTest)
        let line = failure.location ?? creation
        XCTFail(failure.description, file: line.file, line: line.line)
        #endif
        #if !canImport(Testing) && !canImport(XCTest)
        print("\(failure.location ?? creation): \(failure)")
        #endif
    }

    /// Shows a hint, which fails no test. XCTest has none, and Swift Testing has them from Swift 6.3 on.
    private func warn(_ hint: TestFailure) {
        #if canImport(Testing) && compiler(>=6.3)
        if isOfSwiftTesting || Test.current != nil {
            Issue.record(
                Comment(rawValue: hint.description), severity: .warning, sourceLocation: SourceLocation(creation))
            return
        }
        #endif
        print("\(creation): warning: \(hint)")
    }
}

#if canImport(Testing)
extension SourceLocation {
    fileprivate init(_ location: TestFailure.Location) {
        let path = location.file.description
        // The framework wants a module too, which usually has the name of the folder.
        let name = path.split(separator: "/").suffix(2).joined(separator: "/")
        self.init(
            fileID: name.contains("/") ? name : "Tests/\(name)", filePath: path, line: Int(location.line), column: 1)
    }
}
#endif
