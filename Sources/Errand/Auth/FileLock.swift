#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A lock between processes, which ends with the process that holds it.
final class FileLock: Sendable {
    /// How long to wait before asking again. Waiting in the kernel would hold up a thread that other tasks need.
    private static let pause = Duration.milliseconds(10)

    private let descriptor: CInt

    private init(descriptor: CInt) {
        self.descriptor = descriptor
    }

    /// Waits for the lock; `nil` if there can be none, or the task is cancelled before it is had.
    static func acquire(beside file: PrivateFile) async -> FileLock? {
        guard let descriptor = file.openLock() else { return nil }
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            // The other process lives in real time, so this wait does too. It fails if the task is cancelled, and then only.
            guard errno == EWOULDBLOCK || errno == EINTR, (try? await Task.sleep(for: pause)) != nil else {
                _ = close(descriptor)
                return nil
            }
        }
        return FileLock(descriptor: descriptor)
    }

    /// Gives the lock back.
    func release() {
        _ = flock(descriptor, LOCK_UN)
        _ = close(descriptor)
    }
}
