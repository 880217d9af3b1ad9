#if os(Linux)
import Dispatch
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

/// Makes many calls at once to a host whose lookup takes as long as `gate` is open: a FIFO that the lookup reads.
struct ManyLookups {
    let url: String
    let calls: Int
    let timeout: Duration
    let gate: String
    /// Whether the lookup ends once the call that began it has ended; otherwise it lasts as long as the process.
    let lookupEnds: Bool
    /// The file of the authorities that the certificate of the host is checked against; by default the system's.
    let authorities: String?

    /// Cancels the first call, which has begun the lookup, when others wait for it. Prints how the calls ended, how
    /// often in each way, and the threads that libcurl has at the end.
    func report() async throws {
        var options = CurlTransport.Options()
        if let authorities { options.certificateAuthorities = authorities }
        let transport = CurlTransport(options)
        let client = APIClient(url) {
            $0.transport = transport
            $0.rateLimit = .unlimited
            $0.retry = .never
            $0.allowsCleartext = true
            $0.connectivity = .always
            $0.timeout = timeout
        }
        let first = Task { try await client.run(Endpoint<Int>.get("first").timeout(.seconds(60))) }
        let opened = await opened()
        let others = (1..<calls).map { _ in Task { try await client.run(Endpoint<Int>.get("x")) } }
        // Long enough for most of them to wait, which nothing reports. If they do not, they end in the same way.
        try await Task.sleep(for: .milliseconds(100))
        first.cancel()
        _ = await first.result
        if lookupEnds {
            // A second thread of the lookup, for the other kind of addresses, may not have come to the gate yet, and
            // would wait for somebody to open it again.
            unlink(gate)
            close(opened)
        }
        var ends: [String: Int] = [:]
        for call in [first] + others { ends[Self.word(for: await call.result), default: 0] += 1 }
        for (word, count) in ends.sorted(by: { $0.key < $1.key }) { print(count, word) }
        print(try CurlThread.all().count, "threads")
        // A thread that goes on while the program ends can crash it, where OpenSSL cannot be told to free nothing then.
        await transport.shutdown()
    }

    /// Opens the gate, for which the system waits until the lookup has opened the other end.
    private func opened() async -> CInt {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: open(gate, O_WRONLY)) }
        }
    }

    private static func word(for result: Result<Int, any Error>) -> String {
        switch result {
        case .success: return "succeeded"
        case .failure(ServiceError.cancelled): return "cancelled"
        case .failure(ServiceError.timedOut): return "timed out"
        case .failure(ServiceError.transport(let failure)): return "\(failure.kind.rawValue) \(failure.message)"
        case .failure(let error): return "\(error)"
        }
    }
}
#endif
