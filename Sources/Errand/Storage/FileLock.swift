/// A lock between processes. It ends with the process that holds it.
///
/// It locks two files, in this order: a lock file, which exists before the first session does, and the protected file
/// itself. So deleting the lock file does not let a second process in: the protected file is still locked. Either file
/// may have been replaced by the time its lock is acquired. Then no other process would find the locked file, so the
/// path is opened again.
package final class FileLock: Sendable {
    /// The interval between attempts to lock: 10 ms. Waiting in the kernel would block a thread that other files need.
    private static let pause = Duration.milliseconds(10)

    private let file: PrivateFile
    private let locked: [OpenFile]

    fileprivate init(_ locked: [OpenFile], of file: PrivateFile) {
        self.file = file
        self.locked = locked
    }

    /// Waits for the lock, but no longer than `timeout` for a process that holds it and does not change the file.
    /// Returns `nil` if no lock is possible: the folder is not writable, or the file system has no locks.
    ///
    /// The other process lives in real time, and so does this wait, except in a test of the wait.
    package static func acquire(
        beside file: PrivateFile, within timeout: Duration, time: any TimeSource = .system
    ) async throws(StorageError) -> FileLock? {
        var attempt = LockAttempt(on: file)
        var wait = LockWait(timeout)
        while true {
            let (next, outcome) = try await file.onDisk { [attempt] () throws(StorageError) in
                var attempt = attempt
                let outcome = try attempt.lock()
                return (attempt, outcome)
            }
            attempt = next
            guard case .busy(let version) = outcome else { return outcome.lock }
            guard !wait.isOver(at: version) else {
                let holder = "another process has held \(file.lockPath) for \(timeout.displayText)"
                throw file.failure(.locked, "is locked: \(holder); check whether that process hangs")
            }
            let began = time.now
            // The sleep fails only if the task is canceled.
            guard (try? await time.sleep(until: began.advanced(by: pause), in: StopScope<StorageError>())) != nil else {
                throw file.failure(.locked, "is locked by another process, and the task was canceled while it waited")
            }
            // A pause that was much longer than asked for shows that the machine is overloaded or was asleep. Then the
            // other process was hindered as well.
            wait.spend(min(began.duration(to: time.now), pause * 10))
        }
    }

    /// Releases the lock.
    package func release() async {
        await DiskThreads.finish(by: .system, at: file.path, within: DiskThreads.shared.timeLimit) { [locked] in
            for file in locked.reversed() { file.unlockAndClose() }
        }
    }
}

/// The remaining time to wait. Each new version of the file restarts it, because it shows that the process with the
/// lock does not hang: many processes may use the lock, in any order. Only the pauses count: while the disk does not
/// respond to an attempt, it may hinder the other process too.
private struct LockWait {
    private let timeout: Duration
    private var remaining: Duration
    private var version: FileStatus.Version??

    init(_ timeout: Duration) {
        self.timeout = timeout
        remaining = timeout
    }

    mutating func spend(_ pause: Duration) {
        remaining -= pause
    }

    mutating func isOver(at present: FileStatus.Version?) -> Bool {
        if let version, version != present { remaining = timeout }
        version = .some(present)
        return remaining <= .zero
    }
}

/// An attempt to lock a file. It goes on where it has stopped for another process. All of it blocks.
struct LockAttempt: Sendable {
    enum Outcome: Sendable {
        case locked(FileLock)
        /// The folder is not writable, or the file system has no locks.
        case impossible
        /// Another process has the lock, while the file has that version.
        case busy(FileStatus.Version?)

        var lock: FileLock? {
            guard case .locked(let lock) = self else { return nil }
            return lock
        }
    }

    private enum Step {
        case locked, impossible, busy
    }

    private let file: PrivateFile
    private var isFirst = true
    /// The lock file, and whether it is locked already.
    private var beside: OpenFile?
    private var hasBeside = false
    /// The protected file.
    private var itself: OpenFile?

    init(on file: PrivateFile) {
        self.file = file
    }

    mutating func lock() throws(StorageError) -> Outcome {
        while !hasBeside {
            if beside == nil { beside = try openBeside() }
            guard let opened = beside else { return .impossible }
            switch try lock(opened) {
            case .impossible: return .impossible
            case .busy: return .busy(file.version)
            case .locked:
                if opened.isPresent { hasBeside = true } else { beside = nil }
            }
        }
        while let opened = itself ?? file.openForLock() {
            itself = opened
            switch try lock(opened) {
            // Some file systems lock only files that are open for writing. The lock file is locked all the same.
            case .impossible: return done(with: nil)
            case .busy: return .busy(file.version)
            case .locked:
                if opened.isPresent { return done(with: opened) }
                itself = nil
            }
        }
        return done(with: nil)
    }

    private mutating func openBeside() throws(StorageError) -> OpenFile? {
        defer { isFirst = false }
        return try file.openLock(makingFolder: isFirst)
    }

    private func done(with itself: OpenFile?) -> Outcome {
        .locked(FileLock([beside, itself].compactMap(\.self), of: file))
    }

    /// Locks one file.
    private func lock(_ opened: OpenFile) throws(StorageError) -> Step {
        do throws(SystemError) {
            try opened.lock()
            return .locked
        } catch {
            switch error {
            case .operationNotSupported, .notSupported, .noFunction, .badDescriptor, .invalidArgument:
                return .impossible
            case .wouldBlock: return .busy
            default: throw file.failure(.unwritable, "cannot be locked: \(file.lockPath): \(error.words)")
            }
        }
    }
}
