/// What a client knows about one of its servers.
public struct ServerSnapshot: Sendable, Hashable, CustomStringConvertible {
    /// Whether a server is asked.
    @nonexhaustive public enum State: Sendable, Hashable {
        /// Calls ask it.
        case inUse
        /// It has failed or asked for a pause, and is not asked for that long.
        case setAside(for: Duration)
        /// Its breaker is open, or it was the last and keeps failing. It is not asked for that long, and if no other
        /// server can be asked, calls fail immediately.
        case open(for: Duration)
        /// One request checks whether it responds again.
        case tried
    }

    /// The base URL.
    public let baseURL: String
    /// Whether it is asked.
    public let state: State
    /// The number of the client's requests that it has now.
    public let active: Int
    /// The number of failures since it last responded.
    public let failuresInRow: Int

    init(_ address: ServerList.Address, _ health: ServerHealth, at now: Instant) {
        baseURL = address.text
        active = health.active
        failuresInRow = health.failuresInRow
        state =
            switch health.standing {
            case .inUse: .inUse
            case .tried: .tried
            case .aside(_, let until, let cause):
                cause.isFinal
                    ? .open(for: max(.zero, now.duration(to: until)))
                    : .setAside(for: max(.zero, now.duration(to: until)))
            }
    }

    /// The server and its state in words.
    public var description: String {
        switch state {
        case .inUse: "\(baseURL): in use, with \(active) \(active == 1 ? "request" : "requests")"
        case .setAside(let pause): "\(baseURL): set aside for another \(pause.displayText)"
        case .open(let pause): "\(baseURL): not to be asked for another \(pause.displayText)"
        case .tried: "\(baseURL): checked by a request"
        }
    }
}
