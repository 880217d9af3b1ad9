#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Darwin
#endif
#if URLSession && os(Linux)
// FoundationNetworking imports this module, which then owns the types of time for the compiler.
import CDispatch
#endif

/// The clock of the system that goes on while the machine sleeps. It is the clock of `Task.sleep(clock: .continuous)`,
/// read without converting from 128-bit durations: every step of a call reads it.
enum SystemClock {
    #if os(Linux) || os(Android)
    private static let clock = CLOCK_BOOTTIME
    #else
    private static let clock = CLOCK_MONOTONIC_RAW
    #endif

    static var now: Instant {
        var moment = timespec()
        clock_gettime(clock, &moment)
        return Instant(nanoseconds: Int64(moment.tv_sec) * 1_000_000_000 + Int64(moment.tv_nsec))
    }
}
