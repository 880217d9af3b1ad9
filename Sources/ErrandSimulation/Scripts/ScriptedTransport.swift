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
/// A mistake is reported once: of several requests with the same nearest script, the first, and then no unused replies,
/// which such a request usually leaves behind. Each request fails, and `verify()` names them all.
///
/// Of several scripts that expect a request, the first with a reply left responds. A script without a query, headers or
/// a body accepts any. Delays pass in the client's time. Nothing is global, so tests that run in parallel do not affect
/// each other.
public final class ScriptedTransport: Transport {
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
        /// The nearest scripts of unexpected requests that were reported; `nil` for a request without one.
        var reported: Set<Int?> = []
        var isVerified = false
        /// Whether a task looks for a wait for requests that do not come.
        var isWatched = false
    }

    private let state = Lock(State())
    private let waiters = CountWaiters()
    private let stallTimeout: Duration
    private let report: @Sendable (TestFailure) -> Void

    /// Creates a transport with an empty script.
    ///
    /// In tests, `ScriptedTransport()` is enough: `ErrandTesting` reports to the test that runs. Use this initializer
    /// for previews and demos, and for other frameworks.
    ///
    /// - Parameters:
    ///   - stallTimeout: The real time without a request after which `sent(atLeast:)` reports that it waits in vain.
    ///   - report: Receives each difference from the script.
    public init(stallTimeout: Duration = .seconds(10), report: @escaping @Sendable (TestFailure) -> Void) {
        self.stallTimeout = stallTimeout
        self.report = report
    }

    /// A check that always finds a network, unless the client's configuration replaces it.
    public var connectivity: Connectivity { .always }

    /// The requests that were sent, in order.
    public var sent: [Sent] { state.withLock { $0.sent } }

    /// Waits until at least `count` requests were sent. Returns early if the task is canceled.
    ///
    /// If no request comes for ten seconds of real time, it reports that, and returns.
    public func sent(atLeast count: Int, file: StaticString = #filePath, line: UInt = #line) async {
        await waiters.wait(atLeast: count, at: TestFailure.Location(file: file, line: line)) {
            watch()
            return state.withLock { $0.sent.count }
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

    /// Nothing sets one apart from another: a test may create the next one for the same cache.
    public var identity: String? { "" }

    /// It ends its waits itself.
    public var features: TransportFeatures { .observesStops }

    /// Responds to the request from the script.
    public func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        let body =
            try await request.body?.collect(upTo: .max, in: context.scope, reporting: context.noteProgress) ?? Data()
        // A server never takes such a body for whole (D17).
        if let promised = request.body, let length = promised.length, body.count != length {
            throw ServiceError.wrongLength(of: promised)
        }
        let now = context.time.now
        let reply: ScriptedReply
        switch next(for: Sent(request: request, body: body, at: now)) {
        case .success(let found): reply = found
        case .failure(let failure):
            if state.withLock({ $0.reported.insert(failure.nearestScript).inserted }) { report(failure) }
            throw ServiceError.transport(TransportFailure(.unsupported, failure.description))
        }
        if let outcome = reply.atOnce(at: now, by: context.time) { return try outcome.get() }
        return try await context.scope.result(of: {
            try await reply.response(to: request, at: now, by: context.time)
        }).get()
    }

    /// Does nothing: there are no connections.
    public func shutdown() async {}

    func add(_ script: Script) -> ScriptedTransport {
        state.withLock { $0.scripts.append(script) }
        return self
    }

    private func next(for sent: Sent) -> Result<ScriptedReply, TestFailure> {
        let (reply, count) = state.withLock { state in
            state.sent.append(sent)
            guard let index = state.scripts.firstIndex(where: { $0.responds(to: sent) }) else {
                let failure = TestFailure(unexpected: sent, scripts: state.scripts)
                state.unexpected.append(failure)
                return (Result<ScriptedReply, TestFailure>.failure(failure), state.sent.count)
            }
            return (.success(state.scripts[index].next()), state.sent.count)
        }
        waiters.resume(upTo: count)
        return reply
    }

    deinit {
        let unused = state.withLock { $0.isVerified || !$0.unexpected.isEmpty ? [] : $0.scripts.compactMap(\.unused) }
        for failure in unused { report(failure) }
    }
}

extension ScriptedTransport {
    /// Looks for a wait in vain, as long as a test waits for requests.
    private func watch() {
        let mustBegin = state.withLock { state in
            defer { state.isWatched = true }
            return !state.isWatched
        }
        guard mustBegin else { return }
        // The task does not retain the transport and ends with it. It inherits the task-local values by which a
        // framework for tests knows the current test.
        Task { [weak self, stallTimeout] in
            var quiet = QuietTime<Int>(timeout: stallTimeout)
            while self?.look(&quiet) == true { try? await Task.sleep(for: quiet.pause) }
        }
    }

    /// Looks whether a request has come since the last look. Returns whether to look again.
    private func look(_ quiet: inout QuietTime<Int>) -> Bool {
        let (isAwaited, count) = state.withLock { state in
            state.isWatched = waiters.isAwaited
            return (state.isWatched, state.sent.count)
        }
        guard isAwaited else { return false }
        quiet.look(at: count)
        guard quiet.isOver else { return true }
        waiters.giveUp { waiters in
            guard let waiter = waiters.max(by: { $0.count < $1.count }) else { return }
            let text = "The test waits for \(Self.requests(waiter.count)), of which \(count) came, and none for "
            report(TestFailure("\(text)\(stallTimeout.displayText) of real time.", at: waiter.location))
        }
        return false
    }

    private static func requests(_ count: Int) -> String {
        count == 1 ? "1 request" : "\(count) requests"
    }
}
