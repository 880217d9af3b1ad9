public import Errand
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A transport that responds from a script, and records the requests.
///
///     let network = ScriptedTransport { Issue.record("\($0)") }
///     network.on(.get, "/friends", .status(503), .json(#"[{"id": 1, "name": "Ann"}]"#).after(.milliseconds(80)))
///     let clock = TestClock()
///     let client = APIClient("https://api.test") {
///         $0.transport = network
///         $0.time = clock
///     }
///
/// It is strict. A request that the script does not expect fails with `.transport` of the kind `.unsupported`, and is
/// reported. When the transport is released, it reports replies that no request has used, except those with `.always`
/// and those of a handler without a count. `verify()` throws the same, for tests that check earlier. Of several entries
/// that match a request, the first with a reply left responds. Delays pass in the client's time. Nothing is global, so
/// tests that run in parallel do not affect each other.
public final class ScriptedTransport: StoppableTransport {
    /// One request as it was sent.
    public struct Sent: Sendable {
        /// The request.
        public let request: HTTPRequest
        /// Its body.
        public let body: Data
        /// When it was sent, by the client's clock.
        public let at: Instant
    }

    private struct Line: Sendable {
        var method: HTTPMethod?
        var path: String
        var replies: [ScriptedReply]

        func matches(_ request: HTTPRequest) -> Bool {
            guard method == nil || method == request.method, !replies.isEmpty else { return false }
            if path == request.url.path || path == "*" { return true }
            return path == request.url.target || path == request.url.absoluteString
        }

        mutating func next() -> ScriptedReply {
            let reply = replies[0]
            guard let count = reply.count else { return reply }
            if count > 1 { replies[0].count = count - 1 } else { replies.removeFirst() }
            return reply
        }

        var unused: [String] {
            replies.compactMap { $0.count }.map { "\(method?.rawValue ?? "any") \(path): \($0) more expected" }
        }
    }

    private struct State {
        var lines: [Line] = []
        var sent: [Sent] = []
        var unexpected: [String] = []
        var isVerified = false
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Lock(State())
    private let report: (@Sendable (ScriptMismatch) -> Void)?

    /// Creates a transport with an empty script. `report` receives each difference from the script, to fail the test.
    public init(report: (@Sendable (ScriptMismatch) -> Void)? = nil) {
        self.report = report
    }

    /// A check that always finds a network, unless the client's configuration replaces it.
    public var connectivity: Connectivity { .always }

    /// Responds to requests with that method and path, with one reply after the other. A path may be a whole URL, have
    /// a query, or be `*` for any path.
    @discardableResult
    public func on(
        _ method: HTTPMethod, _ path: String, @ScriptBuilder _ replies: () -> [ScriptedReply]
    ) -> ScriptedTransport {
        add(Line(method: method, path: path, replies: replies()))
    }

    /// Responds to requests with that method and path, with one reply after the other.
    @discardableResult
    public func on(_ method: HTTPMethod, _ path: String, _ replies: ScriptedReply...) -> ScriptedTransport {
        add(Line(method: method, path: path, replies: replies))
    }

    /// Responds to `count` requests with that method and path, or to any number of them, with the handler's response.
    @discardableResult
    public func on(
        _ method: HTTPMethod, _ path: String, times count: Int? = nil,
        answering handler: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse
    ) -> ScriptedTransport {
        add(Line(method: method, path: path, replies: [ScriptedReply(outcome: .handler(handler), count: count)]))
    }

    /// Responds to all requests, whatever their method and path, with one reply after the other.
    @discardableResult
    public func onAny(@ScriptBuilder _ replies: () -> [ScriptedReply]) -> ScriptedTransport {
        add(Line(method: nil, path: "*", replies: replies()))
    }

    /// The requests that were sent, in order.
    public var sent: [Sent] { state.withLock { $0.sent } }

    /// Waits until at least `count` requests were sent.
    public func sent(atLeast count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                guard state.sent.count < count else { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Throws if there was a request that the script does not expect, or if a reply was not used.
    public func verify() throws(ScriptMismatch) {
        let mismatch = state.withLock { state in
            state.isVerified = true
            return ScriptMismatch(unexpected: state.unexpected, unused: state.lines.flatMap(\.unused))
        }
        guard mismatch.isEmpty else { throw mismatch }
    }

    /// Responds to the request from the script.
    public func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        let body =
            try await request.body?.collect(upTo: .max, in: context.scope, telling: context.noteProgress) ?? Data()
        let now = context.time.now
        let reply = next(for: Sent(request: request, body: body, at: now))
        guard let reply else {
            let mismatch = ScriptMismatch(unexpected: ["\(request)"], unused: [])
            report?(mismatch)
            throw ServiceError.transport(TransportFailure(.unsupported, mismatch.description))
        }
        if reply.delay == .zero, let outcome = reply.outcome.atOnce { return try outcome.get() }
        return try await context.scope.result(of: {
            // From the moment of the request: a test may advance the clock as soon as it knows of the request.
            try await context.time.sleep(until: now.advanced(by: reply.delay))
            return try await reply.outcome.inTime(for: request, by: context.time)
        }).get()
    }

    /// Does nothing: there are no connections.
    public func shutdown() async {}

    private func add(_ line: Line) -> ScriptedTransport {
        var line = line
        // A reply for zero requests is never used, and never missed.
        line.replies.removeAll { reply in reply.count.map { $0 <= 0 } ?? false }
        state.withLock { [line] in $0.lines.append(line) }
        return self
    }

    private func next(for sent: Sent) -> ScriptedReply? {
        let (reply, watchers) = state.withLock { state in
            state.sent.append(sent)
            let count = state.sent.count
            let satisfied =
                state.watchers.isEmpty ? [] : state.watchers.filter { $0.count <= count }.map(\.continuation)
            if !satisfied.isEmpty { state.watchers.removeAll { $0.count <= count } }
            guard let index = state.lines.firstIndex(where: { $0.matches(sent.request) }) else {
                state.unexpected.append("\(sent.request)")
                return (nil as ScriptedReply?, satisfied)
            }
            return (state.lines[index].next(), satisfied)
        }
        for continuation in watchers { continuation.resume() }
        return reply
    }

    deinit {
        let unused = state.withLock { $0.isVerified ? [] : $0.lines.flatMap(\.unused) }
        if !unused.isEmpty { report?(ScriptMismatch(unexpected: [], unused: unused)) }
    }
}

/// The differences between the requests and the script.
public struct ScriptMismatch: Error, Sendable, Hashable, CustomStringConvertible {
    /// The requests that the script does not expect.
    public let unexpected: [String]
    /// The replies that no request has used.
    public let unused: [String]

    var isEmpty: Bool { unexpected.isEmpty && unused.isEmpty }

    /// A sentence for the reader of the test's failure.
    public var description: String {
        var parts: [String] = []
        if !unexpected.isEmpty { parts.append("the script does not expect \(unexpected.joined(separator: ", "))") }
        if !unused.isEmpty {
            parts.append("the script has replies that nobody asked for: \(unused.joined(separator: ", "))")
        }
        return parts.joined(separator: "; ")
    }
}
