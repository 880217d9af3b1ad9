import Dispatch
@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Threads for the disk", .timeLimit(.minutes(10))) struct DiskThreadsTests {
    /// Limits at which no work is stuck, however slow the machine is.
    private let patient = DiskThreads.Schedule.Limits(timeLimit: .seconds(600))

    @Test("each piece of work is done once, and its result comes back")
    func results() async {
        // No thread ends before they are counted.
        let threads = DiskThreads(patient, idleSeconds: 60)
        let sum = await withTaskGroup(of: Int.self) { group in
            for number in 1...1000 { group.addTask { await threads.finish(at: "\(number % 7)/a") { number } } }
            return await group.reduce(0, +)
        }
        #expect(sum == 500_500)
        #expect((1...4).contains(threads.counts.threads))
    }

    @Test("work that throws throws the same error to its caller")
    func errors() async {
        struct Full: Error {}
        let threads = DiskThreads()
        await #expect(throws: Full.self) { try await threads.finish(at: "a") { () throws(Full) in throw Full() } }
        await #expect(throws: ServiceError.signInRequired) {
            try await threads.run(at: "a") { () throws(ServiceError) in throw .signInRequired }
        }
    }

    @Test("no more works run at once than there are places; the rest wait, in order")
    func limit() async {
        // On a slow machine, too, the work that waits for the gate must not count as stuck.
        let threads = DiskThreads(.init(places: 2, timeLimit: .seconds(600)))
        let gate = DispatchSemaphore(value: 0)
        let (begun, news) = AsyncStream.makeStream(of: Int.self)
        for number in 1...4 {
            threads.submit(at: "\(number)/a") {
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
        let threads = DiskThreads(.init(places: 8, timeLimit: .seconds(600)))
        let gate = DispatchSemaphore(value: 0)
        // As many as there may be threads for tasks, and more.
        async let blocked: Void = withDiscardingTaskGroup { group in
            for number in 0..<8 { group.addTask { await threads.finish(at: "\(number)/a") { gate.wait() } } }
        }
        await withTaskGroup { group in
            for _ in 0..<8 { group.addTask { _ = gate.signal() } }
        }
        await blocked
    }

    @Test("C92 when work is stuck, other work gets its place, and the alarm for that is set again")
    func stuck() async {
        let clock = TestClock()
        let threads = DiskThreads(.init(places: 2), time: clock)
        let gate = DispatchSemaphore(value: 0)
        let (begun, news) = AsyncStream.makeStream(of: String.self)
        var names = begun.makeAsyncIterator()
        for name in ["a", "b", "c", "d", "e"] {
            threads.submit(at: "\(name)/file") {
                news.yield(name)
                if name != "e" { gate.wait() }
            }
        }
        #expect(Set([await names.next(), await names.next()]) == ["a", "b"])
        await clock.advance(by: .seconds(1))
        #expect(Set([await names.next(), await names.next()]) == ["c", "d"])
        #expect(threads.counts == (4, 1))
        await clock.advance(by: .seconds(1))
        #expect(await names.next() == "e")
        for _ in 0..<4 { gate.signal() }
    }

    @Test("C92 a stopped caller leaves its work behind; what has not begun is not done, what must be done is")
    func stopped() async throws {
        let threads = DiskThreads(patient)
        let gate = DispatchSemaphore(value: 0)
        let (hung, hasBegun) = (Noted<[String]>([]), Latch())
        let first = Task {
            try await threads.run(at: "a/file") { () throws(ServiceError) in
                hasBegun.open()
                gate.wait()
                hung.update { $0.append("first") }
            }
        }
        await hasBegun.opened()
        let second = Task {
            try await threads.run(at: "a/file") { () throws(ServiceError) in hung.update { $0.append("second") } }
        }
        // In order: it is behind the second when that has been handed over.
        while threads.counts.waiting == 0 { await Task.yield() }
        let third = Task { await threads.finish(at: "a/file") { hung.update { $0.append("third") } } }
        while threads.counts.waiting == 1 { await Task.yield() }
        for task in [first, second] {
            task.cancel()
            await #expect(throws: ServiceError.cancelled) { try await task.value }
        }
        third.cancel()
        #expect(hung.value == [])
        #expect(threads.counts == (1, 1))
        gate.signal()
        await third.value
        #expect(hung.value == ["first", "third"])
    }

    @Test("a stop of the scope ends the wait with its reason; with a grace, work that is done within it counts")
    func scopes() async throws {
        let threads = DiskThreads(patient)
        let (gate, hasBegun) = (DispatchSemaphore(value: 0), Latch())
        let scope = CallScope()
        let work = Task {
            try await threads.run(at: "a/file", in: scope) { () throws(ServiceError) in
                hasBegun.open()
                gate.wait()
            }
        }
        await hasBegun.opened()
        scope.stop(.signInRequired)
        await #expect(throws: ServiceError.signInRequired) { try await work.value }
        gate.signal()
        let stopped = CallScope()
        stopped.stop(.signInRequired)
        await #expect(throws: ServiceError.signInRequired) {
            try await threads.run(at: "a/file", in: stopped) { () throws(ServiceError) in Issue.record("it is done") }
        }
        let value = try await threads.run(at: "a/file", grace: .seconds(60), in: stopped) {
            () throws(ServiceError) in 7
        }
        #expect(value == 7)
    }

    @Test("a job is released when it is done, not when nothing waits any more")
    func released() async {
        final class Bytes: Sendable {}
        let threads = DiskThreads(patient)
        let gate = DispatchSemaphore(value: 0)
        let (begun, news) = AsyncStream.makeStream(of: Void.self)
        weak var bytes: Bytes?
        do {
            let held = Bytes()
            bytes = held
            threads.submit(at: "a/file") { withExtendedLifetime(held) {} }
        }
        for _ in 0..<2 {
            threads.submit(at: "a/file") {
                news.yield()
                gate.wait()
            }
        }
        for await _ in begun { break }
        #expect(threads.counts.waiting == 1)
        #expect(bytes == nil)
        gate.signal()
        gate.signal()
    }

    #if os(Linux)
    @Test("a thread without work ends, and later work starts another")
    func idleThreads() async throws {
        let threads = DiskThreads(idleSeconds: 0)
        for _ in 0..<20 {
            #expect(await threads.finish(at: "a") { 7 } == 7)
            // A thread of the system ends when the scheduler lets it.
            while threads.counts.threads > 0 { try await Task.sleep(for: .milliseconds(1)) }
        }
    }

    @Test("a thread that is about to end still takes the work that comes just then")
    func endingThreads() async {
        let threads = DiskThreads(idleSeconds: 0)
        for number in 0..<2000 { #expect(await threads.finish(at: "a") { number } == number) }
    }
    #endif

    @Test("virtual time does not pass during work")
    func virtualTime() async {
        let clock = TestClock()
        await clock.run {
            let alarm = clock.schedule(at: .zero.advanced(by: .seconds(1)), for: .watch) {}
            #expect(await DiskThreads.finish(by: clock, at: "a") { 7 } == 7)
            #expect(clock.elapsed == .zero)
            alarm.cancel()
        }
    }

    @Test("virtual time does not pass during work of an archive and of a session, which know no clock")
    func virtualTimeOfOthers() async throws {
        let scratch = try Scratch()
        let clock = TestClock()
        try await clock.run {
            let alarm = clock.schedule(at: .zero.advanced(by: .seconds(1)), for: .watch) {}
            try await ValueArchive<Int>(path: scratch.path("archive")).save(7)
            try await FileTokenPersistence(path: scratch.path("session")).save(nil)
            #expect(clock.elapsed == .zero)
            alarm.cancel()
        }
    }
}

extension DiskThreads {
    fileprivate func submit(at path: String, _ job: @escaping Job) { submit(at: DiskPlace(path), job) }
}
