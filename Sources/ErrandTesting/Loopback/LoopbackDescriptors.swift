#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// How many files and sockets the process may have open.
enum LoopbackDescriptors {
    /// More than enough for the tests of a large package, and below the limit that Darwin has for every process.
    private static let wanted: rlim_t = 10_000

    /// Raises the limit, once in a process, as far as the system allows.
    ///
    /// Tests run in parallel, and each connection takes two descriptors of one process: the 1,024 that a user has by
    /// default are soon used up. What cannot be raised stays: a server that finds no descriptor says so.
    static let raised: Void = {
        #if canImport(Glibc)
        let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let kind = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard getrlimit(kind, &limit) == 0, limit.rlim_cur < wanted else { return }
        limit.rlim_cur = min(limit.rlim_max, wanted)
        _ = setrlimit(kind, &limit)
    }()
}
