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
    /// A path, such as `"health"`, by which a server that was set aside is checked while another is in use; `nil`, the
    /// default, to have a call check it.
    ///
    /// A `GET` is sent there, with the client's headers but without a token and ``Configuration/credentials``, and no
    /// call waits for it. With a 2xx response, the server is in use again; with any other, or none, it is set aside for
    /// longer.
    public var probe: EndpointPath?

    /// Creates the default rules.
    public init() {}

    /// A description of what is wrong with the rules; `nil` if they are valid.
    var problem: String? {
        if let problem = probe?.problem { return "a probe of the servers that cannot be sent: \(problem)" }
        guard case .inOrder(let pause) = choice.kind, pause < .zero else { return nil }
        return "a negative time of \(pause.displayText) before the return to the first server"
    }
}
