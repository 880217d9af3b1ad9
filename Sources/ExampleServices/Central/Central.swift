public import Errand

/// One place for an app's network: what it says in `settings` rules every request, and every failure passes here.
///
/// It is made once and handed on. Change a setting, and every call that begins from then on follows; all share one limit
/// and one session.
public actor Central {
    /// The rules of every request.
    public private(set) var settings: Settings
    /// What failed, in order, for one listener: an app that shows its alerts in one place. Of what nobody has heard, the
    /// last hundred are kept.
    public nonisolated let failures: AsyncStream<ServiceError>
    /// The session.
    public nonisolated let tokens: TokenStore

    private let alerts: AsyncStream<ServiceError>.Continuation
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
            Task { for await event in events { if let failure = event.failure { alerts.yield(failure) } } }
            return client
        }
        self.settings = settings
        self.tokens = tokens
        self.failures = failures
        self.alerts = alerts
        client = makeClient(settings)
    }

    /// Changes the settings. Calls under way end as they began.
    public func change(_ change: @Sendable (inout Settings) -> Void) {
        change(&settings)
        client = makeClient(settings)
    }

    /// How many calls are in flight: shown as long as it is not zero. After a change of the settings, ask again.
    public var activity: AsyncStream<Int> { client.activity }

    /// Runs a call by the present settings. It ends when its task is cancelled.
    public func run<Response>(_ endpoint: Endpoint<Response>) async throws(ServiceError) -> Response {
        try await client.run(endpoint)
    }

    /// Runs a call that is to end even if the view that wanted it is gone. Its owner is this place, not its caller; what it
    /// fails with is told by `failures` like everything else.
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

    deinit {
        alerts.finish()
    }
}
