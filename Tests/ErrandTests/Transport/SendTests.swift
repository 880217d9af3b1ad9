@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("The silence within a send", .timeLimit(.minutes(10))) struct SendTests {
    private let clock = TestClock()

    private func begun(_ timeout: Duration? = .seconds(30)) throws -> Send {
        let call = CallContext(rules: CallRules(timeout: timeout), time: clock).transmission
        let send = Send(timeout: timeout, time: clock, reporter: call)
        try send.begin()
        return send
    }

    @Test("the head begins the timeout anew, and so does each piece of a body: a slow but healthy send goes on")
    func slow() async throws {
        let send = try begun()
        send.note(.waitingForResponse)
        await clock.advance(by: .seconds(20))
        send.note(.receiving)
        await clock.advance(by: .seconds(20))
        #expect(send.scope.reason == nil, "the head came 20 s ago")
        send.noteProgress()
        await clock.advance(by: .seconds(29))
        #expect(send.scope.reason == nil, "a piece came 29 s ago")
        await clock.advance(by: .seconds(1))
        #expect(send.scope.reason == .timedOut(Timeout(.attempt, limit: .seconds(30), phase: .receiving)))
    }

    @Test("while a send waits for a connection, the timeout does not run; it begins with the next phase")
    func queued() async throws {
        let send = try begun()
        send.note(.waitingForConnection)
        await clock.advance(by: .seconds(100))
        send.note(.connecting)
        await clock.advance(by: .seconds(20))
        // Sending is no sign of life.
        send.note(.waitingForResponse)
        #expect(send.scope.reason == nil)
        await clock.advance(by: .seconds(10))
        #expect(send.scope.reason == .timedOut(Timeout(.attempt, limit: .seconds(30), phase: .waitingForResponse)))
    }

    @Test("without a timeout, silence stops nothing, and there is no alarm")
    func unlimited() async throws {
        let send = try begun(nil)
        #expect(clock.alarmCount == 0)
        send.note(.waitingForResponse)
        await clock.advance(by: .seconds(1_000_000))
        #expect(send.scope.reason == nil)
    }

    @Test("after its end a send stops nothing, and leaves no alarm")
    func ended() async throws {
        let send = try begun()
        send.end()
        await clock.advance(by: .seconds(100))
        #expect(send.scope.reason == nil)
        #expect(clock.alarmCount == 0)
    }
}
