#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Darwin
#endif

/// The limit on open files and sockets of the process.
enum LoopbackDescriptors {
    /// Enough for the tests of a large package, and below the limit that Darwin sets for every process.
    private static let wanted: rlim_t = 10_000

    /// Raises the limit, once per process, as far as the system allows.
    ///
    /// Tests run in parallel, and each connection takes two descriptors of one process: the default of 1,024 per user
    /// is soon used up. If the limit cannot be raised, a server that finds no descriptor reports it.
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
