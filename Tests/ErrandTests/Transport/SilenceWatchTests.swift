@testable import Errand
import ErrandTesting
import Testing

@Suite("The silence within a send", .timeLimit(.minutes(1))) struct SilenceWatchTests {
    private let clock = TestClock()

    private func watch(_ timeout: Duration = .seconds(30)) throws -> SilenceWatch {
        let call = CallContext(rules: CallRules(timeout: timeout), time: clock).call
        let watch = SilenceWatch(timeout: timeout, time: clock, reporter: call)
        try watch.begin()
        return watch
    }

    @Test("the head begins the timeout anew, and so does each piece of a body: a slow but healthy send goes on")
    func slow() async throws {
        let watch = try watch()
        watch.note(.waitingForResponse)
        await clock.advance(by: .seconds(20))
        watch.note(.receiving)
        await clock.advance(by: .seconds(20))
        #expect(watch.scope.reason == nil, "the head came 20 s ago")
        watch.noteProgress()
        await clock.advance(by: .seconds(29))
        #expect(watch.scope.reason == nil, "a piece came 29 s ago")
        await clock.advance(by: .seconds(1))
        #expect(watch.scope.reason == .timedOut(Timeout(.attempt, limit: .seconds(30), phase: .receiving)))
    }

    @Test("while a send waits for a connection, the timeout does not run; it begins with the next phase")
    func queued() async throws {
        let watch = try watch()
        watch.note(.waitingForConnection)
        await clock.advance(by: .seconds(100))
        watch.note(.connecting)
        await clock.advance(by: .seconds(20))
        // Sending is no sign of life.
        watch.note(.waitingForResponse)
        #expect(watch.scope.reason == nil)
        await clock.advance(by: .seconds(10))
        #expect(watch.scope.reason == .timedOut(Timeout(.attempt, limit: .seconds(30), phase: .waitingForResponse)))
    }

    @Test("after its end a watch stops nothing, and leaves no alarm")
    func ended() async throws {
        let watch = try watch()
        watch.end()
        await clock.advance(by: .seconds(100))
        #expect(watch.scope.reason == nil)
        #expect(clock.alarmCount == 0)
    }
}
