/// A lock between processes. It ends with the process that holds it.
///
/// It locks two files, in this order: a lock file, which exists before the first session does, and the protected file
/// itself. So deleting the lock file does not let a second process in: the protected file is still locked. Either file
/// may have been replaced by the time its lock is acquired. Then no other process would find the locked file, so the
/// path is opened again.
final class FileLock: Sendable {
    /// The interval between attempts to lock: 10 ms. Waiting in the kernel would block a thread that other tasks need.
    private static let pause = Duration.milliseconds(10)

    /// The remaining time to wait. Each new version of the file restarts it, because it shows that the process with the
    /// lock does not hang: many processes may take turns, in any order.
    private struct Patience {
        let timeout: Duration
        private let file: PrivateFile
        private var version: FileStatus.Identity?
        // The other process lives in real time, so this wait does too.
        private var end: ContinuousClock.Instant

        init(with file: PrivateFile, _ timeout: Duration) {
            self.file = file
            self.timeout = timeout
            version = file.version
            end = .now.advanced(by: timeout)
        }

        mutating func isOver() -> Bool {
            let present = file.version
            if present != version {
                version = present
                end = .now.advanced(by: timeout)
            }
            return .now >= end
        }
    }

    private let locked: [OpenFile]

    private init(_ locked: [OpenFile]) {
        self.locked = locked
    }

    /// Waits for the lock, but no longer than `timeout` for a process that holds it and does not change the file.
    /// Returns `nil` if no lock is possible: the folder is not writable, or the file system has no locks.
    static func acquire(
        beside file: PrivateFile, within timeout: Duration
    ) async throws(StorageError) -> FileLock? {
        var patience = Patience(with: file, timeout)
        var isFirst = true
        while true {
            guard let beside = try file.openLock(makingFolder: isFirst) else { return nil }
            isFirst = false
            guard try await lock(beside, of: file, &patience) else { return nil }
            guard beside.isPresent else { continue }
            return FileLock([beside] + (try await lockItself(file, &patience)))
        }
    }

    /// Releases the lock.
    func release() {
        for file in locked.reversed() { file.unlockAndClose() }
    }

    private static func lockItself(
        _ file: PrivateFile, _ patience: inout Patience
    ) async throws(StorageError) -> [OpenFile] {
        while let itself = file.openForLock() {
            // Some file systems lock only files that are open for writing. The lock file is locked all the same.
            guard try await lock(itself, of: file, &patience) else { return [] }
            if itself.isPresent { return [itself] }
        }
        return []
    }

    /// Waits for the lock on one file. Returns `false` if the file system has no locks.
    private static func lock(
        _ opened: OpenFile, of file: PrivateFile, _ patience: inout Patience
    ) async throws(StorageError) -> Bool {
        while true {
            do throws(SystemError) {
                try opened.lock()
                return true
            } catch {
                switch error {
                case .operationNotSupported, .notSupported, .noFunction, .badDescriptor, .invalidArgument: return false
                case .wouldBlock: break
                default:
                    throw file.failure(.unwritable, "cannot be locked: \(file.lockPath): \(error.words)")
                }
            }
            guard !patience.isOver() else {
                let holder = "another process has held \(file.lockPath) for \(patience.timeout.displayText)"
                throw file.failure(.locked, "is locked: \(holder); see whether it hangs")
            }
            // The sleep fails only if the task is cancelled.
            guard (try? await Task.sleep(for: pause)) != nil else {
                throw file.failure(.locked, "is locked by another process, and the task was cancelled while it waited")
            }
        }
    }
}
