#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Darwin
#endif

/// Wakes a thread that waits for descriptors with `poll`.
package final class WakeUpPipe: Sendable {
    /// What becomes readable when the thread has to wake.
    package let descriptor: CInt
    private let writer: CInt

    /// Returns `nil` if the process has no descriptor left.
    package init?() {
        var ends: [CInt] = [0, 0]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            // A full pipe has woken the thread already.
            _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
        }
        (descriptor, writer) = (ends[0], ends[1])
    }

    /// Wakes the thread, or keeps it from waiting.
    package func raise() {
        _ = write(writer, [0], 1)
    }

    /// Takes back what has woken the thread.
    package func lower() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(descriptor, &bytes, bytes.count) == bytes.count {}
    }

    deinit {
        _ = close(descriptor)
        _ = close(writer)
    }
}
