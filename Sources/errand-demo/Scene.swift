import Errand
import ExampleServer
import ExampleServices

/// The services of the demo and the base URL of their servers.
struct Scene: Sendable {
    let terminal: Terminal
    let wire = WireLog()
    let social: APIClient
    let friends: Social.FriendsService
    let movies: Movies.Service
    let pins: Pins.Service
    private let catalogue: APIClient
    /// The tasks that print the events of all calls, if that was asked for.
    private let logs: [Task<Void, Never>]

    /// Creates the services for the four backends below that URL.
    init(_ base: String, _ terminal: Terminal, isVerbose: Bool) {
        self.terminal = terminal
        let wire = wire
        let configure: (inout Configuration) -> Void = { $0.attemptMiddlewares.append(wire) }
        social = Social.client(
            ServerEnvironment("social", base + "/social/api/v1"), appToken: ExampleData.applicationToken,
            user: ExampleData.ann.id, configure)
        friends = Social.FriendsService(social)
        catalogue = Movies.client(
            ServerEnvironment("movies", base + "/movies/3/movie"), apiKey: ExampleData.apiKey, configure)
        movies = Movies.Service(catalogue)
        pins = Pins.Service(
            ServerEnvironment("pins", base + "/pins"), clientID: ExampleData.clientID,
            clientSecret: ExampleData.clientSecret, persistence: .memory, time: .system, configure)
        logs = isVerbose ? [social.events, catalogue.events, pins.events].map { Self.log($0, to: terminal) } : []
    }

    /// Ends the clients, and returns when all their events have been printed.
    func end() async {
        await social.shutdown()
        await catalogue.shutdown()
        await pins.shutdown()
        for log in logs { await log.value }
    }

    /// The task ends with the events, which end with their client.
    private static func log(_ events: AsyncStream<ClientEvent>, to terminal: Terminal) -> Task<Void, Never> {
        Task {
            let formatter = LogFormatter()
            for await event in events { terminal.say("      \(formatter.line(for: event))", .faint) }
        }
    }
}
