@testable import Errand
import ErrandSimulation
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("The lock on a session file", .timeLimit(.minutes(10)))
struct FileLockTests {
    private let scratch: Scratch
    private let file: FileTokenPersistence
    private let session = SavedSession(
        id: UUID(), token: Token(accessToken: "access.0", refreshToken: "refresh.0"), received: Date())

    init() throws {
        scratch = try Scratch()
        file = FileTokenPersistence(path: scratch.path("session"), lockTimeout: .milliseconds(200))
    }

    @Test("deleting the lock file does not let a second process in while the first holds the lock")
    func deleted() async throws {
        try await file.save(session)
        try await file.exclusively { _ in
            #expect(unlink(scratch.path("session.lock")) == 0)
            #expect(await waitProblem { try await file.exclusively { _ in Issue.record("two at once") } } == .locked)
        }
        #expect(await waitProblem { try await file.exclusively { _ in } } == nil)
    }

    @Test("a lock that was waited for counts only if its file is still the one that others find")
    func deletedUnderWaiter() throws {
        let old = open(scratch.path("session.lock"), O_RDWR | O_CREAT, 0o600)
        #expect(flock(old, LOCK_EX) == 0)
        var waiter = LockAttempt(on: PrivateFile(path: scratch.path("session")))
        #expect(try waiter.lock().isBusy)
        // By now it has opened the old file.
        #expect(unlink(scratch.path("session.lock")) == 0)
        let new = open(scratch.path("session.lock"), O_RDWR | O_CREAT, 0o600)
        #expect(flock(new, LOCK_EX) == 0)
        unlockAndClose(old)
        #expect(try waiter.lock().isBusy, "two at once")
        unlockAndClose(new)
        #expect(try waiter.lock().lock != nil)
    }

    @Test("a lock on the session file counts only if that is still the file that others find")
    func replacedUnderWaiter() throws {
        try scratch.write("{}", to: "session")
        let old = open(scratch.path("session"), O_RDONLY)
        #expect(flock(old, LOCK_EX) == 0)
        var waiter = LockAttempt(on: PrivateFile(path: scratch.path("session")))
        #expect(try waiter.lock().isBusy)
        try scratch.write("{}", to: "other")
        let new = open(scratch.path("other"), O_RDONLY)
        #expect(flock(new, LOCK_EX) == 0)
        #expect(rename(scratch.path("other"), scratch.path("session")) == 0)
        unlockAndClose(old)
        #expect(try waiter.lock().isBusy, "two at once")
        unlockAndClose(new)
        #expect(try waiter.lock().lock != nil)
    }

    @Test(
        "holders that work one after another are waited for, although together they exceed the time limit",
        arguments: [Data.WritingOptions.atomic, []])
    func busy(options: Data.WritingOptions) async throws {
        let clock = TestClock()
        try await file.save(session)
        let path = scratch.path("session")
        let other = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #expect(flock(other, LOCK_EX) == 0)
        let waiter = Task {
            try await FileLock.acquire(beside: PrivateFile(path: path), within: .milliseconds(50), time: clock)
        }
        let saved = try #require(FileManager.default.contents(atPath: path))
        for _ in 0..<12 {
            // Four of the five pauses that are its time limit.
            for _ in 0..<4 {
                await clock.sleepers(atLeast: 1)
                await clock.advance(by: .milliseconds(10))
            }
            await clock.sleepers(atLeast: 1)
            // A new file may have the number of the one before the last, as one that is written in place has.
            try saved.write(to: URL(fileURLWithPath: path), options: options)
        }
        unlockAndClose(other)
        await clock.advance(by: .milliseconds(10))
        let lock = try await waiter.value
        #expect(lock != nil)
        await lock?.release()
    }

    @Test("a holder that does not change the file is given up at the time limit")
    func hung() async throws {
        let clock = TestClock()
        try await file.save(session)
        let path = scratch.path("session")
        let other = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #expect(flock(other, LOCK_EX) == 0)
        let waiter = Task {
            try await FileLock.acquire(beside: PrivateFile(path: path), within: .milliseconds(50), time: clock)
        }
        for _ in 0..<5 {
            await clock.sleepers(atLeast: 1)
            await clock.advance(by: .milliseconds(10))
        }
        let error = await #expect(throws: StorageError.self) { try await waiter.value }
        #expect(error?.kind == .locked)
        unlockAndClose(other)
    }

    @Test("time in which the disk does not respond is no time in which another process holds the lock")
    func slowDisk() async throws {
        let clock = TestClock()
        let locked = PrivateFile(path: scratch.path("session"))
        let holder = try #require(try await FileLock.acquire(beside: locked, within: .seconds(1)))
        let gate = DispatchSemaphore(value: 0)
        DiskThreads.shared.submit(at: DiskPlace(locked.path)) { gate.wait() }
        async let waiter = FileLock.acquire(beside: locked, within: .seconds(1), time: clock)
        // So that its first attempt waits for the disk; nothing reports that.
        try await Task.sleep(for: .milliseconds(100))
        await clock.advance(by: .seconds(3600))
        gate.signal()
        await holder.release()
        // It may be in a pause by now, or come to one.
        let pauses = Task {
            while !Task.isCancelled {
                await clock.advance(by: .milliseconds(10))
                try? await Task.sleep(for: .milliseconds(1))
            }
        }
        defer { pauses.cancel() }
        let lock = try await waiter
        #expect(lock != nil)
        await lock?.release()
    }

    /// Time in which each pause lasts for two hours, as if the process had been suspended.
    private struct SuspendedTime: TimeSource {
        let clock = TestClock()
        let pauses = AsyncStream.makeStream(of: Void.self)

        var now: Instant { clock.now }
        var date: Date { clock.date }
        var executor: (any TaskExecutor)? { nil }

        func random() -> UInt64 { clock.random() }

        func schedule(
            at instant: Instant, for purpose: Alarm.Purpose, _ action: @escaping @Sendable () -> Void
        ) -> Alarm {
            let alarm = clock.schedule(at: instant, for: purpose, action)
            clock.advanceAtOnce(by: .seconds(7200))
            pauses.continuation.yield()
            return alarm
        }
    }

    @Test("a process that was suspended while it waited does not give up when it continues")
    func suspended() async throws {
        let path = scratch.path("session")
        let other = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #expect(flock(other, LOCK_EX) == 0)
        let time = SuspendedTime()
        let waiter = Task {
            try await FileLock.acquire(beside: PrivateFile(path: path), within: .seconds(3600), time: time)
        }
        var pauses = time.pauses.stream.makeAsyncIterator()
        for _ in 0..<3 { await pauses.next() }
        unlockAndClose(other)
        let lock = try await waiter.value
        #expect(lock != nil)
        await lock?.release()
    }

    @Test(
        "nor does a real process, which a signal suspends",
        .enabled(if: LongRun.isWanted, "a busy machine may take longer than the limit of the process"))
    func suspendedProcess() async throws {
        let other = open(scratch.path("session.lock"), O_RDWR | O_CREAT, 0o600)
        #expect(flock(other, LOCK_EX) == 0)
        let child = try Child("lock", scratch.path("session"))
        try await child.isSuspended()
        // Longer than the child's time limit.
        try await Task.sleep(for: .seconds(5.5))
        child.resume()
        // It has tried again by now.
        try await child.firstWord()
        unlockAndClose(other)
        #expect(try await child.end().lines == ["locked"])
    }

    @Test(
        "C83: twenty processes refresh while another one keeps deleting the lock file; no refresh token is used twice")
    func keepsBeingDeleted() async throws {
        try await file.save(session)
        let children = try (0..<20).map { _ in
            try Child("replace", scratch.path("session"), scratch.path("server"), "4")
        }
        for child in children { try await child.firstWord() }
        for child in children { child.go() }
        let path = scratch.path("session.lock")
        let deleter = Task {
            while !Task.isCancelled {
                _ = unlink(path)
                // Long enough for a child to lock the file now and then.
                try await Task.sleep(for: .milliseconds(3))
            }
        }
        for child in children { #expect(try await child.end().status == 0) }
        deleter.cancel()
        let came = try scratch.read("server").split(separator: "\n").map(String.init)
        #expect(came == came.indices.map { "refresh.\($0)" })
    }

    @Test("C80: a symbolic link or a folder at the lock's path is refused, and nothing is done without the lock")
    func lockInTheWay() async throws {
        let link = scratch.path("session.lock")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: scratch.path("target"))
        let throughLink = await waitProblem { try await file.exclusively { _ in Issue.record("without a lock") } }
        #expect(throughLink == .symbolicLink)
        #expect(!scratch.exists("target"))
        #expect(unlink(link) == 0)
        #expect(mkdir(link, 0o700) == 0)
        #expect(await waitProblem { try await file.exclusively { _ in Issue.record("without a lock") } } == .notAFile)
    }

    @Test("a folder that is not writable needs no lock", .enabled(if: geteuid() != 0, "root may write everywhere"))
    func readOnly() async throws {
        try scratch.setMode(0o500, of: ".")
        let ran = Noted(false)
        try await file.exclusively { _ in ran.update { $0 = true } }
        #expect(ran.value)
        try scratch.setMode(0o700, of: ".")
    }

    @Test("a cancelled task that has to wait for the lock leaves, and runs nothing")
    func cancelled() async throws {
        let other = open(scratch.path("session.lock"), O_RDWR | O_CREAT, 0o600)
        #expect(flock(other, LOCK_EX) == 0)
        let patient = FileTokenPersistence(path: scratch.path("session"), lockTimeout: .seconds(3600))
        let task = Task {
            await waitProblem { try await patient.exclusively { _ in Issue.record("without a lock") } }
        }
        task.cancel()
        #expect(await task.value == .locked)
        #expect(close(other) == 0)
    }

    #if os(Linux)
    @Test("no descriptor stays open, whether the lock was acquired or not")
    func closed() async throws {
        try await file.save(session)
        for _ in 0..<3 {
            try await file.exclusively { _ in
                let hasty = FileTokenPersistence(path: scratch.path("session"), lockTimeout: .zero)
                #expect(await waitProblem { try await hasty.exclusively { _ in } } == .locked)
            }
        }
        // A disk's thread closes it, which may be a moment later. If none does, the time of the suite runs out.
        while try openFiles().contains(where: { $0.hasPrefix(scratch.path("session")) }) {
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    private func openFiles() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").map {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) ?? ""
        }
    }
    #endif
}

/// A process that is being started by another test may hold the descriptor too, and with it the lock.
private func unlockAndClose(_ descriptor: CInt) {
    #expect(flock(descriptor, LOCK_UN) == 0)
    #expect(close(descriptor) == 0)
}

extension LockAttempt.Outcome {
    fileprivate var isBusy: Bool { if case .busy = self { true } else { false } }
}
