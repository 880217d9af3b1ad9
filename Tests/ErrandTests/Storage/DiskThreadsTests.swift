import Dispatch
@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Threads for the disk") struct DiskThreadsTests {
    @Test("each piece of work is done once, and its result comes back")
    func results() async {
        // No thread ends before they are counted.
        let threads = DiskThreads(limit: 3, patience: 60)
        let sum = await withTaskGroup(of: Int.self) { group in
            for number in 1...1000 { group.addTask { await threads.run { number } } }
            return await group.reduce(0, +)
        }
        #expect(sum == 500_500)
        #expect((1...3).contains(threads.counts.threads))
    }

    @Test("work that throws throws the same error to its caller")
    func errors() async {
        struct Full: Error {}
        let threads = DiskThreads(limit: 1)
        await #expect(throws: Full.self) { try await threads.run { () throws(Full) in throw Full() } }
    }

    @Test("no more works run at once than there are threads; the rest wait, in order")
    func limit() async {
        let threads = DiskThreads(limit: 2)
        let gate = DispatchSemaphore(value: 0)
        let (begun, news) = AsyncStream.makeStream(of: Int.self)
        for number in 1...4 {
            threads.submit {
                news.yield(number)
                gate.wait()
            }
        }
        var numbers = begun.makeAsyncIterator()
        // The two that run block both threads.
        #expect(Set([await numbers.next(), await numbers.next()]) == [1, 2])
        #expect(threads.counts == (2, 2))
        gate.signal()
        #expect(await numbers.next() == 3)
        gate.signal()
        #expect(await numbers.next() == 4)
        #expect(threads.counts == (2, 0))
        gate.signal()
        gate.signal()
    }

    @Test("a blocked thread keeps no task from running")
    func besideTasks() async {
        let threads = DiskThreads(limit: 8)
        let gate = DispatchSemaphore(value: 0)
        // As many as there may be threads for tasks, and more.
        async let blocked: Void = withDiscardingTaskGroup { group in
            for _ in 0..<8 { group.addTask { await threads.run { gate.wait() } } }
        }
        await withTaskGroup { group in
            for _ in 0..<8 { group.addTask { _ = gate.signal() } }
        }
        await blocked
    }

    #if os(Linux)
    @Test("a thread without work ends, and later work starts another")
    func idleThreads() async throws {
        let threads = DiskThreads(limit: 2, patience: 0)
        for _ in 0..<20 {
            #expect(await threads.run { 7 } == 7)
            // A thread of the system ends when the scheduler lets it.
            while threads.counts.threads > 0 { try await Task.sleep(for: .milliseconds(1)) }
        }
    }

    @Test("a thread that is about to end still takes the work that comes just then")
    func endingThreads() async {
        let threads = DiskThreads(limit: 2, patience: 0)
        for number in 0..<2000 { #expect(await threads.run { number } == number) }
    }
    #endif

    @Test("virtual time does not pass during work")
    func virtualTime() async {
        let clock = TestClock()
        await clock.run {
            let alarm = clock.schedule(at: .zero.advanced(by: .seconds(1)), for: .watch) {}
            #expect(await DiskThreads.run(by: clock) { 7 } == 7)
            #expect(clock.elapsed == .zero)
            alarm.cancel()
        }
    }
}
