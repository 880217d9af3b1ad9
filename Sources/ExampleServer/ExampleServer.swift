public import Errand
public import ErrandSimulation

/// The servers of the four example services, behind one real HTTP server on 127.0.0.1.
///
///     let server = try ExampleServer()
///     server.fail(.status(503), next: 2, on: "/movies/3/movie/popular")
///     let movies = APIClient(server.moviesURL) { $0.parameters["api_key"] = ExampleData.apiKey }
///     let popular = try await movies.reply(to: Endpoint<MoviePage>.get("popular"))
///     #expect(popular.attempts == 3)
///
/// `ExampleData` describes the initial data. The servers are stateful: a friend who is added is in the list afterwards.
/// Each backend accepts five requests in any second and answers the sixth with 429 and `Retry-After`, as if it were a
/// separate server. All responses are deterministic, tokens included: they protect nothing.
///
/// The server ends with `close()`, or when it is deallocated.
public final class ExampleServer: Sendable {
    /// The rules of a server, which are fixed when it is created.
    public struct Settings: Sendable {
        /// How many requests each backend accepts; `nil` for any number.
        public var requestLimit: RequestLimit? = RequestLimit()
        /// How long an access token of Pins is valid.
        public var accessTokenLifetime: Duration = .seconds(60)
        /// The clock for token expiry and for counting requests. The delay of a slow response is real time.
        public var time: any TimeSource = .system

        /// Creates the default settings.
        public init() {}
    }

    /// The HTTP server. Replies that you script on it take precedence over those of the backends.
    public let loopback: LoopbackServer
    private let world: ExampleWorld

    /// Starts a server on a free port.
    public convenience init(_ configure: (inout Settings) -> Void = { _ in }) throws(LoopbackServer.StartFailure) {
        try self.init(on: LoopbackServer(), configure)
    }

    /// Serves the backends on that server, which it takes over: `close()` ends it.
    public init(on loopback: LoopbackServer, _ configure: (inout Settings) -> Void = { _ in }) {
        var settings = Settings()
        configure(&settings)
        self.loopback = loopback
        let world = ExampleWorld(settings)
        self.world = world
        loopback.onAny { request in world.reply(to: request) }
    }

    /// The base URL of Social, the friends list; `friends` is below it.
    public var socialURL: String { url(of: SocialBackend.self) }
    /// The base URL of Central, the sign-in; `authenticate` and `token` are below it.
    public var centralURL: String { url(of: CentralBackend.self) }
    /// The base URL of Movies; `popular` is below it.
    public var moviesURL: String { url(of: MoviesBackend.self) }
    /// The base URL of the posters of Movies; `w500/poster-1.jpg` is below it.
    public var moviePicturesURL: String { url(of: PicturesBackend.self) }
    /// The base URL of Pins; `oauth/access_token` and `users/self` are below it.
    public var pinsURL: String { url(of: PinsBackend.self) }

    /// The requests that the server received, in order.
    public var received: [LoopbackRequest] { loopback.received }

    /// Makes the next `count` requests fail whose path is `path` or below it; `/` matches all paths.
    ///
    /// Faults are used in the order in which they were requested. A request beyond the limit is answered with 429, and
    /// does not use up a fault. A request can also ask for a fault itself, with the header `X-Example-Fault`.
    public func fail(_ fault: Fault, next count: Int = 1, on path: String) {
        world.fail(fault, count: count, on: path)
    }

    /// Discards the faults that have not been used yet.
    public func stopFailing() {
        world.stopFailing()
    }

    /// Ends the sessions of all users, as an administrator would: from now on, every token that Central and Pins have
    /// issued is refused.
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
