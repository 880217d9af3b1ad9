/// How a client with several servers uses them.
///
///     let client = APIClient(.servers("https://api.example.com/v1", "https://backup.example.net/v1")) {
///         $0.servers.choice = .inOrder(returningAfter: .seconds(600))
///     }
///
/// See <doc:SeveralServers>.
public struct ServerRules: Sendable, Hashable {
    /// Which server is asked; by default the first that is not set aside, in the order of the list.
    public var choice = ServerChoice.inOrder()
    /// Whether the servers recognize each other's idempotency keys; `false` by default.
    ///
    /// Then a request with such a key that a server may have received is sent to another one after a failure. Otherwise
    /// it stays where it is, because it might take effect twice.
    public var shareKeys = false

    /// Creates the default rules.
    public init() {}

    /// A description of what is wrong with the rules; `nil` if they are valid.
    var problem: String? {
        guard case .inOrder(let pause) = choice.kind, pause < .zero else { return nil }
        return "a negative time of \(pause.displayText) before the return to the first server"
    }
}

/// Which of several servers is asked.
public struct ServerChoice: Sendable, Hashable, CustomStringConvertible {
    enum Kind: Sendable, Hashable {
        case inOrder(returningAfter: Duration)
        case leastBusy
        case roundRobin
    }

    let kind: Kind

    /// The first server of the list; the next one while that is set aside.
    ///
    /// When the first has been set aside for that long, a minute by default, one request tries it, and the others
    /// follow when it has answered. If no other server is left, it is tried earlier.
    public static func inOrder(returningAfter pause: Duration = .seconds(60)) -> ServerChoice {
        ServerChoice(kind: .inOrder(returningAfter: pause))
    }
    /// The server that has the fewest requests of this client.
    public static let leastBusy = ServerChoice(kind: .leastBusy)
    /// One server after the other.
    public static let roundRobin = ServerChoice(kind: .roundRobin)

    /// The choice in words.
    public var description: String {
        switch kind {
        case .inOrder(let pause): "in order, and back after \(pause.displayText)"
        case .leastBusy: "the least busy"
        case .roundRobin: "one after the other"
        }
    }
}
