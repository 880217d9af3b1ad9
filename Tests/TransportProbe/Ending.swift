#if os(Linux)
import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// Ends the process while a transport makes connections over TLS.
struct Ending {
    let url: String
    let authorities: String

    /// Makes a call, prints its status, and ends the process while others follow.
    func run() async throws -> Never {
        // A thread may hang in what was freed.
        alarm(30)
        // A handler of the program's own takes a while. Handlers run in the reverse order, and OpenSSL is not set up
        // yet, so its own would run before.
        atexit { usleep(100_000) }
        let transport = CurlTransport(trusting: authorities, through: .none)
        let request = HTTPRequest(method: .get, url: try HTTPURL(url))
        print(try await transport.send(request, context: TransportContext()).status)
        Task {
            while true { _ = try await transport.send(request, context: TransportContext()) }
        }
        // The next call has begun when it is over.
        _ = try await transport.send(request, context: TransportContext())
        exit(0)
    }
}
#endif
