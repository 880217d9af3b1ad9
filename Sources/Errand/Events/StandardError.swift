#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Darwin
#endif

/// The standard error of the process, for messages that a developer should see without having asked for them.
enum StandardError {
    /// Prints a line.
    static func print(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        // One write, so that lines do not mix. If it fails, there is nowhere to say so.
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
