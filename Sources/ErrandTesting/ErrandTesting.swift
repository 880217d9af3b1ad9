// The types themselves are in a module of their own. This one imports the frameworks for tests, which a program must
// not link: an app on Apple's platforms would not start, and on Linux it would load Foundation and ICU. Tests import
// only this module, so it has to pass the other one on.
@_exported public import ErrandSimulation
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension ScriptedTransport {
    /// Creates a transport with an empty script, which reports each difference to the test that runs, in Swift Testing
    /// or in XCTest.
    ///
    /// A failure is reported at the line of the script that is concerned, otherwise at that of the test.
    ///
    /// - Parameters:
    ///   - stallTimeout: The real time without a request after which `sent(atLeast:)` reports that it waits in vain.
    ///   - file: The file of the call, for failures in XCTest.
    ///   - line: The line of the call, for failures in XCTest.
    public convenience init(
        stallTimeout: Duration = .seconds(10), file: StaticString = #filePath, line: UInt = #line
    ) {
        let reporter = TestReporter(TestFailure.Location(file: file, line: line))
        self.init(stallTimeout: stallTimeout) { reporter($0) }
    }
}

extension TestClock {
    /// Creates a clock, which reports a stall to the test that runs, in Swift Testing or in XCTest.
    ///
    /// - Parameters:
    ///   - seed: Determines the random numbers and, unless it is 0, the order in which tasks continue.
    ///   - date: The initial date of the wall clock; a moment in 2001 by default.
    ///   - stallTimeout: The real time after which the clock reports that tasks sleep and it is not advanced.
    ///   - file: The file of the call, for failures in XCTest.
    ///   - line: The line of the call, for failures in XCTest.
    public convenience init(
        seed: UInt64 = 0, date: Date = Date(timeIntervalSince1970: 1_000_000_000),
        stallTimeout: Duration = .seconds(10), file: StaticString = #filePath, line: UInt = #line
    ) {
        let reporter = TestReporter(
            TestFailure.Location(file: file, line: line))
        self.init(seed: seed, date: date, stallTimeout: stallTimeout) { reporter($0) }
    }
}
