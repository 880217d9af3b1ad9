import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing
import XCTest

@Suite("Failures reach the test that runs") struct DefaultReportTests {
    @Test("an unused script is an issue at its line")
    func unused() {
        let line = #line + 3
        withKnownIssue {
            let network = ScriptedTransport()
            network.on(.get, "/a", .status(200))
        } matching: { issue in
            issue.sourceLocation?.line == line && "\(issue.comments)".contains("has been used 0 of 1 times")
        }
    }

    @Test("an unexpected request is an issue at the line of the test, if no script was meant for it")
    func unexpected() async throws {
        let line = #line - 2
        await withKnownIssue {
            let network = ScriptedTransport()
            network.on(.get, "/a", .status(204))
            _ = try? await network.answer(.get, "https://api.test/b")
            _ = try? await network.answer(.get, "https://api.test/a")
        } matching: { issue in
            issue.sourceLocation?.line == line && "\(issue.comments)".contains("- path    /a")
        }
    }

    @Test("a clock that is not advanced is an issue of the test")
    func stall() async throws {
        await withKnownIssue {
            let clock = TestClock(stallTimeout: .milliseconds(100))
            try? await clock.sleep(for: .seconds(5))
            #expect(clock.elapsed == .seconds(5))
        } matching: { issue in
            "\(issue.comments)".contains("A TestClock is at 0 ms")
        }
    }
}

/// The same in XCTest.
final class DefaultReportXCTests: XCTestCase {
    private struct Failure: Equatable {
        var text: String
        var file: String
        var line: Int
    }

    private let failures = Lock<[Failure]?>(nil)

    #if canImport(Darwin)
    override func record(_ issue: XCTIssue) {
        let location = issue.sourceCodeContext.location
        note(issue.compactDescription, location?.fileURL.path ?? "", location?.lineNumber ?? 0) { super.record(issue) }
    }
    #else
    override func recordFailure(
        withDescription description: String, inFile filePath: String, atLine lineNumber: Int, expected: Bool
    ) {
        note(description, filePath, lineNumber) {
            super.recordFailure(
                withDescription: description, inFile: filePath, atLine: lineNumber, expected: expected)
        }
    }
    #endif

    private func note(_ text: String, _ file: String, _ line: Int, otherwise: () -> Void) {
        let isNoted = failures.withLock { failures in
            failures?.append(Failure(text: text, file: file, line: line))
            return failures != nil
        }
        if !isNoted { otherwise() }
    }

    /// Runs `body`, and returns the failures that it reports.
    private func failures(_ body: () -> Void) -> [Failure] {
        failures.withLock { $0 = [] }
        body()
        return failures.withLock { failures in
            defer { failures = nil }
            return failures ?? []
        }
    }

    func testAnUnusedScriptIsAFailureAtItsLine() {
        let line = #line + 3
        let failures = failures {
            let network = ScriptedTransport()
            network.on(.get, "/a", .status(200))
        }
        XCTAssertEqual(failures.map(\.line), [line])
        XCTAssertEqual(failures.map(\.file), ["\(#filePath)"])
        XCTAssertEqual(failures.first?.text.contains("has been used 0 of 1 times"), true)
    }
}
