import Errand
import Foundation

/// A log of the requests on the wire, in order: as the last middleware, it sees every send.
actor WireLog {
    /// One send.
    struct Entry: Sendable {
        var line: String
        /// The time of the send, since the log was last emptied.
        var sent: Duration
        var answered: Duration
    }

    private var entries: [Entry] = []
    private var start = ContinuousClock.now

    /// Discards all entries; times count from now on.
    func empty() {
        entries = []
        start = .now
    }

    /// All entries, in the order in which they were sent.
    var all: [Entry] { entries.sorted { $0.sent < $1.sent } }

    /// Returns the number of entries whose line contains a text.
    func count(of text: String) -> Int { entries.count { $0.line.contains(text) } }

    fileprivate func add(_ line: String, sent: ContinuousClock.Instant) {
        entries.append(Entry(line: line, sent: start.duration(to: sent), answered: start.duration(to: .now)))
    }
}

extension WireLog: Middleware {
    nonisolated func intercept(
        _ request: HTTPRequest, _ context: CallContext, next: Next
    ) async throws -> HTTPResponse {
        let sent = ContinuousClock.now
        let asked = "\(request.method) \(request.url.path)"
        do throws(ServiceError) {
            let response = try await next(request, context)
            await add("\(asked) → \(response.status)", sent: sent)
            return response
        } catch {
            await add("\(asked) → \(error)", sent: sent)
            throw error
        }
    }
}
