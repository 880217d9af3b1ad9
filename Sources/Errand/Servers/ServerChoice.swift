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
