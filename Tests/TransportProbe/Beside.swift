#if os(Linux)
import Errand

/// Calls to a server, one after the other, beside something else in the same process.
struct Beside: Sendable {
    private let calls: Task<[Int], any Error>

    /// Begins to call that URL.
    init(_ url: String, on transport: CurlTransport) {
        calls = Task {
            let request = HTTPRequest(method: .get, url: try HTTPURL(url))
            var took: [Int] = []
            while !Task.isCancelled {
                let start = ContinuousClock.now
                do {
                    _ = try await transport.send(request, context: TransportContext())
                } catch ServiceError.cancelled where Task.isCancelled {
                    break
                }
                took.append(Int(start.duration(to: .now) / .milliseconds(1)))
                // The last pause may be canceled.
                try? await Task.sleep(for: .milliseconds(2))
            }
            return took
        }
    }

    /// Ends the calls. Prints how many there were, and how many milliseconds they took at the median and at most, or
    /// why one failed.
    func report() async {
        calls.cancel()
        switch await calls.result {
        case .success(let took):
            let sorted = took.sorted()
            print("calls", sorted.count, sorted.isEmpty ? 0 : sorted[sorted.count / 2], sorted.last ?? 0)
        case .failure(let error): print("calls failed: \(error)")
        }
    }
}
#endif
