public import Errand

/// A single place for an app's network: `settings` apply to every request, and every failure is reported here.
///
/// Create one instance and pass it on. When you change a setting, every call that begins afterwards uses it; all calls
/// share one limit, one session and one transport.
public actor Central {
    /// The settings of every request.
    public private(set) var settings: Settings
    /// The session.
    public nonisolated let tokens: TokenStore

    nonisolated let reports: Reports
    private nonisolated let counts = Broadcast(0)
    private nonisolated let started = StartedCalls()
    /// The configuration of every client, but for the settings.
    private let base: Configuration
    /// The transport of all clients; `nil` if `configure` has set one, which is not ours to shut down.
    private let ownTransport: (any Transport)?
    private var client: APIClient
    private var clients = 1
    /// The clients that have calls in flight, with the number of those: after a change, more than one.
    private var busy: [ObjectIdentifier: (client: APIClient, calls: Int)] = [:]
    private var isShutDown = false

    /// Creates an instance. `configure` may set what `settings` do not cover: a transport with pinned keys, for
    /// example. It is called once.
    public init(
        _ settings: Settings, persistence: any TokenPersistence = .memory, time: any TimeSource = .system,
        _ configure: @Sendable (inout Configuration) -> Void = { _ in }
    ) {
        // The server issues tokens that are valid until it revokes them.
        let tokens = TokenStore(persistence: persistence, time: time)
        let reports = Reports()
        var base = Configuration(settings.server)
        base.time = time
        base.tokens = tokens
        base.rateLimit = .requests(4, per: .seconds(1))
        // The server sometimes labels its JSON as a web page.
        base.acceptedContentTypes = ["application/json", "text/json", "text/html"]
        configure(&base)
        // Shared by all clients, so that a change of the settings opens no new connections and cannot exceed the limit.
        base.limiter = base.limiter ?? RateLimiter(base.rateLimit, time: base.time)
        let ownTransport = base.transport == nil ? Self.platformTransport : nil
        base.transport = base.transport ?? ownTransport
        self.tokens = tokens
        self.reports = reports
        self.ownTransport = ownTransport
        self.base = base
        self.settings = settings
        client = Self.client(1, of: settings, base, reporting: reports)
    }

    private static func client(
        _ number: Int, of settings: Settings, _ base: Configuration, reporting reports: Reports
    ) -> APIClient {
        var configuration = settings.applied(to: base)
        configuration.observe = { event in
            base.observe?(event)
            reports.send(.event(event, client: number))
        }
        return APIClient(configuration)
    }

    private static var platformTransport: any Transport {
        #if os(Linux)
        CurlTransport()
        #else
        URLSessionTransport()
        #endif
    }

    /// Changes the settings. Calls in flight keep the settings that they began with.
    public func change(_ change: @Sendable (inout Settings) -> Void) {
        change(&settings)
        guard !isShutDown else { return }
        clients += 1
        client = Self.client(clients, of: settings, base, reporting: reports)
    }

    /// Runs a call with the current settings. The call ends when its task is canceled.
    public func run<Response>(_ endpoint: Endpoint<Response>) async throws(ServiceError) -> Response {
        // Reentrancy: `client` may be another one when the call has ended.
        let client = client
        count(1, on: client)
        defer { count(-1, on: client) }
        return try await client.run(endpoint)
    }

    /// Runs a call that continues even if the view that started it is gone. It ends with the task that is returned,
    /// with `cancelAll()` or with `shutdown()`; `failures` reports its error like any other.
    @discardableResult
    public nonisolated func start<Response>(_ endpoint: Endpoint<Response>) -> Task<
        Result<Response, ServiceError>, Never
    > {
        // This actor owns the task.
        started.start {
            do throws(ServiceError) {
                return .success(try await self.run(endpoint))
            } catch {
                return .failure(error)
            }
        }
    }

    /// Cancels all running calls, including those that were started for longer than a view. New calls may begin.
    public func cancelAll() {
        started.cancelAll()
        for (client, _) in busy.values { client.cancelAll() }
    }

    /// Cancels all calls and ends the streams; later calls fail. When it returns, no call is running. The saved session
    /// is kept.
    public func shutdown() async {
        isShutDown = true
        cancelAll()
        // Reentrancy: what ends during the wait leaves `busy`, and what begins fails in the client.
        for client in busy.values.map(\.client) + [client] { await client.shutdown() }
        await ownTransport?.shutdown()
        // The calls have ended, even if not all of them have been counted out yet.
        if inFlight > 0 { counts.send(0) }
        counts.finish()
        reports.finish()
    }

    /// The number of calls in flight, now and whenever it changes: show an indicator as long as it is not zero. A
    /// change of the settings does not interrupt the stream. Each listener receives every number, or the latest one if
    /// it is slow.
    public nonisolated var activity: AsyncStream<Int> { counts.stream(capacity: 1) }

    private var inFlight: Int { busy.values.reduce(0) { $0 + $1.calls } }

    private func count(_ change: Int, on client: APIClient) {
        let calls = (busy[ObjectIdentifier(client)]?.calls ?? 0) + change
        busy[ObjectIdentifier(client)] = calls > 0 ? (client, calls) : nil
        counts.send(inFlight)
    }
}
