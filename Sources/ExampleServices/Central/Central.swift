public import Errand

/// A single place for an app's network: `settings` apply to every request, and every failure is reported here.
///
/// Create one instance and pass it on. When you change a setting, every call that begins afterwards uses it; all calls
/// share one limit and one session.
public actor Central {
    /// The settings of every request.
    public private(set) var settings: Settings
    /// The failures, in order, for one listener: an app that shows its alerts in one place. Cancelled calls are not
    /// reported. The stream buffers the last hundred failures.
    public nonisolated let failures: AsyncStream<ServiceError>
    /// The events of all calls as lines of text without secrets, for one listener. A listener that falls a thousand
    /// lines behind loses the oldest.
    public nonisolated let log: AsyncStream<String>
    /// The number of calls in flight, for one listener: show an indicator as long as it is not zero. A change of the
    /// settings does not interrupt the stream.
    public nonisolated let activity: AsyncStream<Int>
    /// The session.
    public nonisolated let tokens: TokenStore

    private let alerts: AsyncStream<ServiceError>.Continuation
    private let lines: AsyncStream<String>.Continuation
    private let counts: AsyncStream<Int>.Continuation
    private var inFlight = 0
    private let makeClient: @Sendable (Settings) -> APIClient
    private var client: APIClient

    /// Creates an instance. `configure` may set what `settings` do not cover: a transport with pinned keys, for
    /// example.
    public init(
        _ settings: Settings, persistence: any TokenPersistence = .memory, time: any TimeSource = .system,
        _ configure: @escaping @Sendable (inout Configuration) -> Void = { _ in }
    ) {
        // The server issues tokens that are valid until it revokes them.
        let tokens = TokenStore(persistence: persistence, time: time)
        let limiter = RateLimiter(.requests(4, per: .seconds(1)), time: time)
        let (failures, alerts) = AsyncStream.makeStream(
            of: ServiceError.self, bufferingPolicy: .bufferingNewest(100))
        let (log, lines) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(1000))
        // A late listener wants the current number.
        let (activity, counts) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(1))
        makeClient = { settings in
            let client = APIClient(settings.server) {
                $0.time = time
                $0.tokens = tokens
                $0.limiter = limiter
                $0.parameters = settings.parameters
                // The server sometimes labels its JSON as a web page.
                $0.acceptedContentTypes = ["application/json", "text/json", "text/html"]
                configure(&$0)
            }
            let events = client.events
            // This task ends with the client, which ends the stream of events.
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

    /// Changes the settings. Calls in flight keep the settings that they began with.
    public func change(_ change: @Sendable (inout Settings) -> Void) {
        change(&settings)
        client = makeClient(settings)
    }

    /// Runs a call with the current settings. The call ends when its task is cancelled.
    public func run<Response>(_ endpoint: Endpoint<Response>) async throws(ServiceError) -> Response {
        count(1)
        defer { count(-1) }
        return try await client.run(endpoint)
    }

    /// Runs a call that continues even if the view that started it is gone. This actor owns its task; `failures`
    /// reports its error like any other.
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

    /// Reports a failure that occurred without a call, and returns it.
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
