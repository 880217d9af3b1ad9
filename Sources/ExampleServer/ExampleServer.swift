public import Errand
public import ErrandTesting

/// The servers of the four example services, played by one real server on 127.0.0.1.
///
///     let server = try ExampleServer()
///     server.fail(.status(503), next: 2, on: "/movies/3/movie/popular")
///     let movies = APIClient(server.moviesURL) { $0.parameters["api_key"] = ExampleData.apiKey }
///     let popular = try await movies.reply(to: Endpoint<MoviePage>.get("popular"))
///     #expect(popular.attempts == 3)
///
/// What they know at first is in `ExampleData`. They remember what is done to them: a friend who is added is in the
/// list afterwards. Each takes five requests in any second and answers the sixth with 429 and `Retry-After`, as if it
/// were a server of its own. All that they do is the same each time, tokens included: they protect nothing.
///
/// The server ends with `close()`, or when it goes.
public final class ExampleServer: Sendable {
    /// The rules of a server. They are fixed when it is made.
    public struct Settings: Sendable {
        /// How many requests each backend takes; `nil` for any number.
        public var requestLimit: RequestLimit? = RequestLimit()
        /// How long an access token of Pins is good.
        public var accessTokenLifetime: Duration = .seconds(60)
        /// The clock by which tokens expire and requests are counted. The pause of a slow answer is a real one.
        public var time: any TimeSource = .system

        /// The usual rules.
        public init() {}
    }

    /// The server that speaks HTTP. What is said to it about a request goes before what the backends would answer.
    public let loopback: LoopbackServer
    private let world: ExampleWorld

    /// Starts a server on a free port.
    public convenience init(_ configure: (inout Settings) -> Void = { _ in }) throws(LoopbackServer.StartFailure) {
        try self.init(on: LoopbackServer(), configure)
    }

    /// Plays the backends on that server, which it takes over: `close()` ends it.
    public init(on loopback: LoopbackServer, _ configure: (inout Settings) -> Void = { _ in }) {
        var settings = Settings()
        configure(&settings)
        self.loopback = loopback
        let world = ExampleWorld(settings)
        self.world = world
        loopback.onAny { request in world.reply(to: request) }
    }

    /// The base URL of Social, the friends list: `friends` lies below it.
    public var socialURL: String { url(of: SocialBackend.self) }
    /// The base URL of Central, the sign-in: `authenticate` and `token` lie below it.
    public var centralURL: String { url(of: CentralBackend.self) }
    /// The base URL of Movies: `popular` lies below it.
    public var moviesURL: String { url(of: MoviesBackend.self) }
    /// The base URL of Pins: `oauth/access_token` and `users/self` lie below it.
    public var pinsURL: String { url(of: PinsBackend.self) }

    /// What was received, in order.
    public var received: [LoopbackRequest] { loopback.received }

    /// Lets the next so many requests go wrong whose path is that one or lies below it; `/` is above all.
    ///
    /// What is asked for first goes first. A request that is one too many for the limit is answered with 429, and uses
    /// up no fault. A request can ask for a fault of its own, too, with the header `X-Example-Fault`.
    public func fail(_ fault: Fault, next count: Int = 1, on path: String) {
        world.fail(fault, count: count, on: path)
    }

    /// Forgets what was still to go wrong.
    public func stopFailing() {
        world.stopFailing()
    }

    /// Ends the sessions of all users, as an administrator would: every token that Central and Pins have handed out is
    /// refused from now on.
    public func endSessions() {
        world.endSessions()
    }

    /// Ends the server. `closed()` of `loopback` waits for the last of its threads.
    public func close() {
        loopback.close()
    }

    private func url(of backend: any Backend.Type) -> String {
        ([loopback.baseURL] + backend.prefix).joined(separator: "/")
    }

    deinit { close() }
}
