@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("The permit of a send", .timeLimit(.minutes(10))) struct PermitTests {
    private let clock = TestClock()

    /// A permit of that limiter, as admission takes it.
    private func permit(of limiter: RateLimiter) throws -> Permit {
        let taken = try #require(try limiter.takeAtOnce(cost: 1, isUrgent: false))
        return Permit(of: limiter, cost: 1, taken: taken, before: .distantFuture)
    }

    /// A send with that permit.
    private func send(with permit: Permit) throws -> Send {
        let transmission = CallContext(time: clock).transmission
        let send = Send(timeout: .seconds(30), time: clock, reporter: transmission, permit: permit)
        try send.begin()
        return send
    }

    /// A send that has used its permit of that limiter.
    private func begunSend(of limiter: RateLimiter) throws -> Send {
        let send = try send(with: try permit(of: limiter))
        #expect(send.usePermit())
        return send
    }

    /// A send that waits for a connection, with a permit of that limiter.
    private func waitingSend(of limiter: RateLimiter) throws -> Send {
        let send = try send(with: try permit(of: limiter))
        send.note(.waitingForConnection)
        return send
    }

    @Test(
        "C1: a send that waits in a middleware and for a connection keeps its one permit, which counts from the last",
        arguments: [Duration.zero, .seconds(1)])
    func waitsTwice(beforeSend: Duration) async throws {
        let limiter = RateLimiter(.requests(1, per: .seconds(10)), time: clock)
        try await clock.run {
            let permit = try permit(of: limiter)
            try await clock.sleep(for: beforeSend)
            let send = try send(with: permit)
            send.note(.waitingForConnection)
            try await clock.sleep(for: .seconds(1))
            #expect(send.usePermit())
            #expect(limiter.snapshot.nextGrant == clock.now.advanced(by: .seconds(10)))
            send.end()
        }
    }

    @Test("C1: a send that waits for longer than the period takes another permit, ahead of the queue")
    func waitsLong() async throws {
        let limiter = RateLimiter(.requests(1, per: .seconds(10)), time: clock)
        try await clock.run {
            let send = try waitingSend(of: limiter)
            try await clock.sleep(for: .seconds(9))
            let other = Task(executorPreference: clock.executor) { () async throws(ServiceError) -> Instant in
                try await limiter.acquire()
                try await limiter.acquire()
                return clock.now
            }
            try await clock.sleep(for: .seconds(2))
            #expect(!send.usePermit())
            try await send.takePermit()
            #expect(clock.elapsed == .seconds(20), "the other has the permit from 10 s to 20 s")
            #expect(try await other.value == .ms(30_000), "its second permit comes after that of the send")
            send.end()
        }
    }

    @Test("C6: a permit that was taken before a pause is not used in it, even if the pause ends before it is back")
    func pause() async throws {
        let limiter = RateLimiter(.requests(1, per: .seconds(10)), time: clock)
        try await clock.run {
            let send = try waitingSend(of: limiter)
            try await clock.sleep(for: .seconds(1))
            limiter.pause(until: clock.now.advanced(by: .seconds(2)))
            try await clock.sleep(for: .seconds(1))
            #expect(!send.usePermit())
            try await send.takePermit()
            #expect(clock.elapsed == .seconds(10), "when its own permit comes back")
            send.end()
        }
    }

    @Test("while a send waits for another permit, its timeout does not run; afterwards it runs from its start")
    func timeout() async throws {
        let limiter = RateLimiter(.requests(1, per: .seconds(100)), time: clock)
        try await clock.run {
            let (first, second) = (try permit(of: limiter), CallContext(time: clock).transmission)
            #expect(first.use(at: clock.now) != nil)
            let send = Send(timeout: .seconds(30), time: clock, reporter: second, permit: first)
            try send.begin()
            #expect(!send.usePermit(), "a permit is for one send")
            try await send.takePermit()
            #expect(clock.elapsed == .seconds(100))
            try await clock.sleep(for: .seconds(29))
            #expect(send.scope.reason == nil)
            try await clock.sleep(for: .seconds(1))
            #expect(send.scope.reason == .timedOut(Timeout(.attempt, limit: .seconds(30), phase: .preparing)))
        }
    }

    @Test("C1: a permit that the client used ahead is that of the first send beneath it; a second send takes another")
    func usedAhead() async throws {
        let limiter = RateLimiter(.requests(2, per: .seconds(100)), time: clock)
        try await clock.run {
            let send = Send(
                timeout: nil, time: clock, reporter: CallContext(time: clock).transmission,
                permit: try permit(of: limiter), features: [])
            #expect(send.usePermit())
            #expect(send.usePermitInTransport() && limiter.snapshot.available == 1)
            #expect(!send.usePermitInTransport())
            try await send.takePermit()
            #expect(limiter.snapshot.available == 0)
            send.end()
        }
    }

    @Test(
        "C1: a permit counts from the first byte, if its connection took a while; also in the limiter of all",
        arguments: [false, true])
    func firstByte(isWithin: Bool) async throws {
        let all = RateLimiter(.requests(1, per: .seconds(10)), time: clock)
        let limiter = isWithin ? RateLimiter(.requests(2, per: .seconds(10)), within: all) : all
        try await clock.run {
            let send = try begunSend(of: limiter)
            // The last time, no more than a millisecond has passed, and nothing changes.
            for (wait, passed) in [(Duration.seconds(3), Int64(3000)), (.seconds(4), 7000), (.milliseconds(1), 7000)] {
                try await clock.sleep(for: wait)
                send.noteFirstByte()
                #expect(all.snapshot.nextGrant == .ms(passed + 10_000))
            }
            #expect(limiter.snapshot.available == (isWithin ? 1 : 0))
            send.end()
        }
    }

    @Test("C1: a permit that has come back before the first byte is counted again, and another call waits for it")
    func lateFirstByte() async throws {
        let limiter = RateLimiter(.requests(1, per: .seconds(10)), time: clock)
        try await clock.run {
            let send = try begunSend(of: limiter)
            try await clock.sleep(for: .seconds(11))
            try await limiter.acquire()
            try await clock.sleep(for: .seconds(1))
            send.noteFirstByte()
            #expect(limiter.snapshot.nextGrant == .ms(22_000) && limiter.snapshot.available == 0)
            try await limiter.acquire()
            #expect(clock.elapsed == .seconds(22))
            send.end()
        }
    }

    @Test("C1: another permit, taken because the first has come back, counts from the first byte as well")
    func firstByteOfAnother() async throws {
        let limiter = RateLimiter(.requests(1, per: .seconds(10)), time: clock)
        try await clock.run {
            let send = try waitingSend(of: limiter)
            try await clock.sleep(for: .seconds(12))
            #expect(!send.usePermit())
            try await send.takePermit()
            try await clock.sleep(for: .seconds(2))
            send.noteFirstByte()
            #expect(limiter.snapshot.nextGrant == .ms(24_000))
            send.end()
        }
    }

    @Test("C1: a pause that ends early does not give back a permit whose first byte left meanwhile")
    func firstByteInPause() async throws {
        let limiter = RateLimiter(.requests(1, per: .seconds(10)), time: clock)
        try await clock.run {
            let send = try begunSend(of: limiter)
            limiter.pause(until: .ms(30_000))
            try await clock.sleep(for: .seconds(4))
            send.noteFirstByte()
            limiter.resume()
            #expect(limiter.snapshot.nextGrant == .ms(14_000))
            send.end()
        }
    }

    @Test("F4: a permit with an end counts from its use: others have it after the end")
    func firstByteBeforeEnd() async throws {
        let send = Send(
            timeout: nil, time: clock, reporter: CallContext(time: clock).transmission,
            permit: EndingPermit(end: .ms(9000)))
        try await clock.run {
            #expect(send.usePermit())
            try await clock.sleep(for: .seconds(4))
            send.noteFirstByte()
            send.end()
        }
    }

    @Test("F4: a permit that was used ahead is not used after its end")
    func usedAheadUntilItsEnd() async throws {
        try await clock.run {
            for (wait, isUsable) in [(Duration.seconds(4), true), (.seconds(5), false)] {
                let permit = EndingPermit(end: clock.now.advanced(by: .seconds(5)))
                let send = Send(
                    timeout: nil, time: clock, reporter: CallContext(time: clock).transmission, permit: permit,
                    features: [])
                #expect(send.usePermit())
                try await clock.sleep(for: wait)
                #expect(send.usePermitInTransport() == isUsable)
                send.end()
            }
        }
    }

    /// A permit that others get at its end.
    private final class EndingPermit: SendPermit {
        let hasEnd = true
        let end: Instant
        private let isUsed = Lock(false)

        init(end: Instant) {
            self.end = end
        }

        func use(at instant: Instant) -> Instant? {
            isUsed.withLock { isUsed in
                defer { isUsed = true }
                return isUsed ? nil : instant
            }
        }

        func takeAnother(in scope: CallScope) async throws(ServiceError) -> (wait: Duration, use: Instant) {
            (.zero, .zero)
        }

        func delay(from use: Instant, to instant: Instant) {
            Issue.record("a permit with an end is not delayed")
        }
    }

    @Test("a send whose call ends while it waits for another permit leaves the queue at once")
    func leaves() async throws {
        let limiter = RateLimiter(.requests(1, per: .seconds(100)), time: clock)
        try await clock.run {
            let send = try send(with: try permit(of: limiter))
            #expect(send.usePermit())
            #expect(!send.usePermit())
            async let another = failure { () async throws(ServiceError) in try await send.takePermit() }
            try await clock.sleep(for: .seconds(1))
            #expect(limiter.snapshot.waiters == 1)
            send.scope.stop(.signInRequired)
            #expect(await another == .cancelled)
            #expect(limiter.snapshot.waiters == 0 && clock.elapsed == .seconds(1))
        }
    }
}
