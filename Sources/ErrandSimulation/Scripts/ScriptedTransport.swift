public import Errand
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A transport that responds from a script, and records the requests.
///
///     let network = ScriptedTransport()
///     network.on(.get, "/friends", .status(503), .json(#"[{"id": 1, "name": "Ann"}]"#).after(.milliseconds(80)))
///     let clock = TestClock()
///     let client = APIClient("https://api.test") {
///         $0.transport = network
///         $0.time = clock
///     }
///
/// It is strict. A request that no script expects fails with `.transport` of the kind `.unsupported`. The failure says
/// how the request differs from the nearest script, and fails the test. When the transport is released, it reports
/// replies that no request has used. It does not report replies with `.always`, nor those of a closure without a number
/// of times: they respond to any number of requests, including none. `verify()` throws the same, for tests that check
/// earlier.
///
/// Of several scripts that expect a request, the first with a reply left responds. A script without a query, headers or
/// a body accepts any. Delays pass in the client's time. Nothing is global, so tests that run in parallel do not affect
/// each other.
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

    private struct State {
        var scripts: [Script] = []
        var sent: [Sent] = []
        var unexpected: [TestFailure] = []
        var isVerified = false
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Lock(State())
    private let report: @Sendable (TestFailure) -> Void

    /// Creates a transport with an empty script.
    ///
    /// In tests, `ScriptedTransport()` is enough: `ErrandTesting` reports to the test that runs. Use this initializer
    /// for previews and demos, and for other frameworks.
    ///
    /// - Parameter report: Receives each difference from the script.
    public init(report: @escaping @Sendable (TestFailure) -> Void) {
        self.report = report
    }

    /// A check that always finds a network, unless the client's configuration replaces it.
    public var connectivity: Connectivity { .always }

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

    /// Throws if there was a request that no script expects, or if a reply was not used.
    public func verify() throws(TestFailure) {
        let failures = state.withLock { state in
            state.isVerified = true
            return state.unexpected + state.scripts.compactMap(\.unused)
        }
        guard let first = failures.first else { return }
        throw TestFailure(failures.map(\.description).joined(separator: "\n"), at: first.location)
    }

    /// Responds to the request from the script.
    public func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        let body =
            try await request.body?.collect(upTo: .max, in: context.scope, telling: context.noteProgress) ?? Data()
        let now = context.time.now
        let reply: ScriptedReply
        switch next(for: Sent(request: request, body: body, at: now)) {
        case .success(let found): reply = found
        case .failure(let failure):
            report(failure)
            throw ServiceError.transport(TransportFailure(.unsupported, failure.description))
        }
        // From the moment of the request: a test may advance the clock as soon as it knows of the request.
        let start = now.advanced(by: reply.delay)
        var response: HTTPResponse
        if reply.delay == .zero, let outcome = reply.outcome.atOnce {
            response = try outcome.get()
        } else {
            response = try await context.scope.result(of: {
                try await context.time.sleep(until: start, for: .sleeper("a scripted delay"), in: CallScope())
                return try await reply.outcome.inTime(for: request, by: context.time)
            }).get()
        }
        if let body = reply.body { response.body = body.body(from: start, by: context.time) }
        return response
    }

    /// Does nothing: there are no connections.
    public func shutdown() async {}

    func add(_ script: Script) -> ScriptedTransport {
        state.withLock { $0.scripts.append(script) }
        return self
    }

    private func next(for sent: Sent) -> Result<ScriptedReply, TestFailure> {
        let (reply, watchers) = state.withLock { state in
            state.sent.append(sent)
            let count = state.sent.count
            let satisfied =
                state.watchers.isEmpty ? [] : state.watchers.filter { $0.count <= count }.map(\.continuation)
            if !satisfied.isEmpty { state.watchers.removeAll { $0.count <= count } }
            guard let index = state.scripts.firstIndex(where: { $0.responds(to: sent) }) else {
                let failure = TestFailure(unexpected: sent, scripts: state.scripts)
                state.unexpected.append(failure)
                return (Result<ScriptedReply, TestFailure>.failure(failure), satisfied)
            }
            return (.success(state.scripts[index].next()), satisfied)
        }
        for continuation in watchers { continuation.resume() }
        return reply
    }

    deinit {
        let unused = state.withLock { $0.isVerified ? [] : $0.scripts.compactMap(\.unused) }
        for failure in unused { report(failure) }
    }
}
