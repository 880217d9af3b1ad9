public import Errand

/// One place for an app's network: what it says in `settings` rules every request, and every failure passes here.
///
/// It is made once and handed on. Change a setting, and every call that begins from then on follows; all share one
/// limit and one session.
public actor Central {
    /// The rules of every request.
    public private(set) var settings: Settings
    /// What failed, in order, for one listener: an app that shows its alerts in one place. A call that was cancelled is
    /// none of it. Of what nobody has heard, the last hundred are kept.
    public nonisolated let failures: AsyncStream<ServiceError>
    /// What happens to the calls, line by line and without secrets, for one listener. One that falls a thousand lines
    /// behind misses the oldest.
    public nonisolated let log: AsyncStream<String>
    /// How many calls are in flight, for one listener: an indicator is shown as long as it is not zero. A change of the
    /// settings does not disturb it.
    public nonisolated let activity: AsyncStream<Int>
    /// The session.
    public nonisolated let tokens: TokenStore

    private let alerts: AsyncStream<ServiceError>.Continuation
    private let lines: AsyncStream<String>.Continuation
    private let counts: AsyncStream<Int>.Continuation
    private var inFlight = 0
    private let makeClient: @Sendable (Settings) -> APIClient
    private var client: APIClient

    /// Makes the place. `configure` may set what `settings` do not have: a transport with pinned keys, say.
    public init(
        _ settings: Settings, persistence: any TokenPersistence = .memory, time: any TimeSource = .system,
        _ configure: @escaping @Sendable (inout Configuration) -> Void = { _ in }
    ) {
        // The server gives out tokens that are good until it takes them back.
        let tokens = TokenStore(persistence: persistence, time: time)
        let limiter = RateLimiter(.requests(4, per: .seconds(1)), time: time)
        let (failures, alerts) = AsyncStream.makeStream(
            of: ServiceError.self, bufferingPolicy: .bufferingNewest(100))
        let (log, lines) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(1000))
        // Whoever looks late wants to know how it is now.
        let (activity, counts) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(1))
        makeClient = { settings in
            let client = APIClient(settings.server) {
                $0.time = time
                $0.tokens = tokens
                $0.limiter = limiter
                $0.parameters = settings.parameters
                // The server calls its JSON a page now and then.
                $0.acceptedContentTypes = ["application/json", "text/json", "text/html"]
                configure(&$0)
            }
            let events = client.events
            // It ends with the client, for then there are no more events.
            Task {
                for await event in events {
                    lines.yield(LogFormatter().line(for: event))
                    if let failure = event.failure, failure != .cancelled { alerts.yield(failure) }
                }
            }
            return client
        }
        self.settings = settings
        self.tokens = tokens
        self.failures = failures
        self.alerts = alerts
        self.log = log
        self.lines = lines
        self.activity = activity
        self.counts = counts
        client = makeClient(settings)
    }

    /// Changes the settings. Calls under way end as they began.
    public func change(_ change: @Sendable (inout Settings) -> Void) {
        change(&settings)
        client = makeClient(settings)
    }

    /// Runs a call by the present settings. It ends when its task is cancelled.
    public func run<Response>(_ endpoint: Endpoint<Response>) async throws(ServiceError) -> Response {
        count(1)
        defer { count(-1) }
        return try await client.run(endpoint)
    }

    /// Runs a call that is to end even if the view that wanted it is gone. Its owner is this place, not its caller;
    /// what it fails with is told by `failures` like everything else.
    @discardableResult
    public nonisolated func start<Response>(_ endpoint: Endpoint<Response>) -> Task<
        Result<Response, ServiceError>, Never
    > {
        Task {
            do throws(ServiceError) {
                return .success(try await run(endpoint))
            } catch {
                return .failure(error)
            }
        }
    }

    /// Tells of a failure without a call, and returns it.
    func told(_ error: ServiceError) -> ServiceError {
        if error != .cancelled { alerts.yield(error) }
        return error
    }

    private func count(_ change: Int) {
        inFlight += change
        counts.yield(inFlight)
    }

    deinit {
        alerts.finish()
        lines.finish()
        counts.finish()
    }
}
