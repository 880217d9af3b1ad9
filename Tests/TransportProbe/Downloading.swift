#if os(Linux)
import Errand
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A download to a file, in a process that may be killed, or may not write beyond a limit.
struct Downloading {
    let base: String
    let path: String
    let limit: rlim_t?

    func report() async {
        if let limit {
            // The write begins and fails half-way, as on a full disk.
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: limit, rlim_max: limit)
            #if canImport(Glibc)
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            #else
            setrlimit(RLIMIT_FSIZE, &limit)
            #endif
        }
        let client = APIClient(base) { $0.rateLimit = .unlimited }
        do throws(ServiceError) {
            let file = try await client.download(.get("file"), to: path) { _ in Self.say("begun") }
            Self.say("after \(file.resumedAfter)")
        } catch {
            Self.say("\(error)")
        }
    }

    /// Prints at once: a process that is killed cannot flush a buffer.
    private static func say(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = write(STDOUT_FILENO, bytes, bytes.count)
    }
}
#endif
