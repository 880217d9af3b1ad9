#if os(Linux)
@testable import Errand
import Foundation
import Testing

@Suite("Whether a thread comes back to its jobs", .timeLimit(.minutes(10))) struct CurlRoundsTests {
    /// Runs code on a thread of its own, and returns what it returns.
    private func onThread(_ body: @escaping @Sendable () -> Bool) async -> Bool {
        await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: body()) }.start()
        }
    }

    @Test("L7: one that works for long without coming back is held up, until it does")
    func working() async {
        let isHeldUp = await onThread {
            let rounds = CurlRounds()
            rounds.begin()
            while !rounds.isHeldUp(at: CurlRounds.now) {}
            rounds.comeBack()
            return rounds.isHeldUp(at: CurlRounds.now)
        }
        #expect(!isHeldUp)
    }

    @Test("L7: one that does many things, each of them short, is not held up")
    func manyThings() async {
        let isHeldUp = await onThread {
            let rounds = CurlRounds()
            rounds.begin()
            return (0..<20).contains { _ in
                let end = CurlRounds.now + 2_000_000
                while CurlRounds.now < end {}
                rounds.goOn()
                return rounds.isHeldUp()
            }
        }
        #expect(!isHeldUp)
    }

    @Test("L7: one that waits, or that has no core, is not held up")
    func waiting() async {
        let isHeldUp = await onThread {
            let rounds = CurlRounds()
            rounds.begin()
            // The thread does not work in this time, as if others had the cores.
            Thread.sleep(forTimeInterval: 0.02)
            let hasNoCore = rounds.isHeldUp(at: CurlRounds.now)
            rounds.wait()
            return hasNoCore || rounds.isHeldUp(at: .max)
        }
        #expect(!isHeldUp)
    }

    @Test("L7: one that a task has is held up even if the task does not work")
    func tasks() async {
        let isHeldUp = await onThread {
            let rounds = CurlRounds()
            rounds.begin()
            var isHeldUp = false
            rounds.withTask {
                Thread.sleep(forTimeInterval: 0.02)
                isHeldUp = rounds.isHeldUp(at: CurlRounds.now)
            }
            return isHeldUp
        }
        #expect(isHeldUp)
    }
}
#endif
