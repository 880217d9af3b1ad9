#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

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
        private var version: ino_t?
        // The other process lives in real time, so this wait does too.
        private var end: ContinuousClock.Instant

        init(with file: PrivateFile, _ timeout: Duration) {
            self.file = file
            self.timeout = timeout
            version = file.inode
            end = .now.advanced(by: timeout)
        }

        mutating func isOver() -> Bool {
            let present = file.inode
            if present != version {
                version = present
                end = .now.advanced(by: timeout)
            }
            return .now >= end
        }
    }

    private let descriptors: [CInt]

    private init(descriptors: [CInt]) {
        self.descriptors = descriptors
    }

    /// Waits for the lock, but no longer than `timeout` for a process that holds it and does not change the file.
    /// Returns `nil` if no lock is possible: the folder is not writable, or the file system has no locks.
    static func acquire(
        beside file: PrivateFile, within timeout: Duration
    ) async throws(StorageError) -> FileLock? {
        var patience = Patience(with: file, timeout)
        var isFirst = true
        while true {
            guard let descriptor = try file.openLock(makingFolder: isFirst) else { return nil }
            isFirst = false
            do {
                guard try await lock(descriptor, of: file, &patience) else {
                    _ = close(descriptor)
                    return nil
                }
            } catch {
                _ = close(descriptor)
                throw error
            }
            guard isPresent(descriptor, at: file.lockPath) else {
                _ = close(descriptor)
                continue
            }
            do {
                let own = try await lockItself(file, &patience)
                return FileLock(descriptors: [descriptor] + own)
            } catch {
                _ = close(descriptor)
                throw error
            }
        }
    }

    /// Releases the lock.
    func release() {
        for descriptor in descriptors.reversed() {
            _ = flock(descriptor, LOCK_UN)
            _ = close(descriptor)
        }
    }

    private static func lockItself(
        _ file: PrivateFile, _ patience: inout Patience
    ) async throws(StorageError) -> [CInt] {
        while let descriptor = file.openForLock() {
            do {
                // Some file systems lock only files that are open for writing. The lock file is locked all the same.
                guard try await lock(descriptor, of: file, &patience) else {
                    _ = close(descriptor)
                    return []
                }
            } catch {
                _ = close(descriptor)
                throw error
            }
            if isPresent(descriptor, at: file.path) { return [descriptor] }
            _ = close(descriptor)
        }
        return []
    }

    /// Waits for the lock on one file. Returns `false` if the file system has no locks.
    private static func lock(
        _ descriptor: CInt, of file: PrivateFile, _ patience: inout Patience
    ) async throws(StorageError) -> Bool {
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            switch errno {
            case EINTR: continue
            case EOPNOTSUPP, ENOTSUP, ENOSYS, EBADF, EINVAL: return false
            case EWOULDBLOCK: break
            case let code:
                throw file.failure(
                    .unwritable, "cannot be locked: \(file.lockPath): \(String(cString: strerror(code)))")
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
        return true
    }

    /// Returns whether the path still leads to the open file.
    private static func isPresent(_ descriptor: CInt, at path: String) -> Bool {
        var (mine, present) = (stat(), stat())
        return fstat(descriptor, &mine) == 0 && lstat(path, &present) == 0 && mine.st_ino == present.st_ino
            && mine.st_dev == present.st_dev
    }
}
