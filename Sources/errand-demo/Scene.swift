import Errand
import ExampleServer
import ExampleServices

/// The services of the demo and the base URL of their servers.
struct Scene: Sendable {
    let terminal: Terminal
    let wire = WireLog()
    let social: APIClient
    let friends: Social.FriendsService
    let central: Central
    let movies: Movies.Service
    let pins: Pins.Service
    /// The user's browser, as far as the server can see. It shares the limit of the pins.
    let visitor: APIClient
    private let catalog: APIClient
    /// The tasks that print the events of all calls, if that was asked for.
    private let logs: [Task<Void, Never>]

    /// Creates the services for the four backends below that URL.
    init(_ base: String, _ terminal: Terminal, isVerbose: Bool) {
        self.terminal = terminal
        let wire = wire
        let configure: @Sendable (inout Configuration) -> Void = { $0.attemptMiddlewares.append(wire) }
        social = Social.client(
            ServerEnvironment(name: "social", baseURL: base + "/social/api/v1"), appToken: ExampleData.applicationToken,
            user: ExampleData.ann.id, configure)
        friends = Social.FriendsService(social)
        central = Central(Self.settings(base), configure)
        catalog = Movies.client(
            ServerEnvironment(name: "movies", baseURL: base + "/movies/3/movie"), apiKey: ExampleData.apiKey, configure)
        movies = Movies.Service(catalog)
        let limiter = RateLimiter(.requests(5, per: .seconds(1)))
        pins = Pins.Service(
            ServerEnvironment(name: "pins", baseURL: base + "/pins"), clientID: ExampleData.clientID,
            clientSecret: ExampleData.clientSecret, persistence: .memory, time: .system
        ) {
            configure(&$0)
            $0.limiter = limiter
        }
        visitor = APIClient(base + "/pins") {
            configure(&$0)
            $0.limiter = limiter
        }
        guard isVerbose else {
            logs = []
            return
        }
        let events = [social.diagnostics, catalog.diagnostics, pins.diagnostics].map { Self.log($0, to: terminal) }
        logs = events + [Self.log(central.log, to: terminal) { $0 }]
    }

    /// Returns the settings of the backend of Central; the demo has checked that the URL is valid.
    private static func settings(_ base: String) -> Central.Settings {
        guard let url = try? HTTPURL(base + "/central") else { return Central.Settings(host: "") }
        var settings = Central.Settings(host: url.origin.host)
        (settings.scheme, settings.port, settings.path) = (url.origin.scheme, url.origin.port, url.path)
        return settings
    }

    /// Ends the clients, and returns when all their events have been printed.
    func end() async {
        await social.shutdown()
        await central.shutdown()
        await catalog.shutdown()
        await pins.shutdown()
        await visitor.shutdown()
        for log in logs { await log.value }
    }

    private static func log(_ events: AsyncStream<ClientEvent>, to terminal: Terminal) -> Task<Void, Never> {
        log(events, to: terminal) { LogFormatter().line(for: $0) }
    }

    /// The task ends with the elements, which end with their client.
    private static func log<Element: Sendable>(
        _ elements: AsyncStream<Element>, to terminal: Terminal, _ line: @escaping @Sendable (Element) -> String
    ) -> Task<Void, Never> {
        Task {
            for await element in elements { terminal.say("      \(line(element))", .faint) }
        }
    }
}
