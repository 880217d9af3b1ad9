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

/// The servers of a client, as it knows them.
public struct ServersInUse: Sendable {
    let pool: ServerPool?
    let time: any TimeSource

    /// What the client knows about each server, in the order of its list. With one server, no breaker and no hedging
    /// there is nothing to know, and the list is empty.
    public var snapshot: [ServerSnapshot] { pool?.snapshot(at: time.now) ?? [] }
}

extension ServerPool {
    /// What is known about each server at that instant.
    func snapshot(at now: Instant) -> [ServerSnapshot] {
        zip(list.addresses, self.servers).map { ServerSnapshot($0, $1, at: now) }
    }

    /// Says which server a request would ask, and why no other, and returns the URL there.
    func outlook(for request: HTTPRequest, isNamed: Bool, at now: Instant) -> (text: String, url: HTTPURL) {
        let servers = snapshot(at: now)
        let index = list.index(of: request.url)
        let isBound = isNamed || index != 0 || list.first.remainder(of: request.url) == nil
        let notes = servers.filter { $0.state != .inUse }.map(\.description)
        let end = notes.isEmpty ? "" : " (\(notes.joined(separator: "; ")))"
        switch look(for: ServerRecords.Asker(bound: isBound ? index : nil), at: now) {
        case .success(let index):
            let text = servers[index].baseURL + (isBound ? ", and no other" : "") + end
            return (text, list.url(request.url, at: index) ?? request.url)
        case .failure: return ("none" + end, request.url)
        }
    }
}
