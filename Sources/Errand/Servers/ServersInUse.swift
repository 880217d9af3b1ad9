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
        let isBound = isNamed || !list.isForAny(request.url)
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
