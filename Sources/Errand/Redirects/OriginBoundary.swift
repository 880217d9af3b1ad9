/// Where the credentials of a client belong, and what a request to any other origin may carry.
///
/// A request leaves the origin by a redirect, which a server has chosen, or by a middleware, which has changed its URL.
/// Both are the same here: from then on nothing signs the request, no cookie of the client's own host is added, and of
/// its headers only those travel that are known to be harmless (C50, C64).
final class OriginBoundary: Sendable {
    /// The origin of the client.
    let own: Origin
    /// The origins of the client's other servers.
    private let servers: Set<Origin>
    /// The origins that the program trusts like the client's own, with those.
    private let trusted: Set<Origin>
    private let secretNames: SecretNames
    /// The key that the client adds to each query; `nil` if there is none.
    private let queryKey: (name: String, value: String)?

    init(
        _ own: Origin, servers: Set<Origin> = [], trusting trusted: Set<Origin> = [],
        secretNames: SecretNames = .standard, queryKey: (name: String, value: String)? = nil
    ) {
        self.own = own
        self.servers = servers.subtracting([own])
        self.trusted = trusted.union(servers).subtracting([own])
        self.secretNames = secretNames
        self.queryKey = queryKey
    }

    /// The headers that say what is requested and in which form, and nothing about the caller. Conditions are among
    /// them, because a DELETE must not lose its condition; so is the key that prevents a request from taking effect
    /// twice. Any other header may be a credential or, like `Host`, may concern only the first origin.
    private static let harmless: Set<String> = [
        "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "content-digest",
        "content-encoding", "content-language", "content-type", "idempotency-key", "if-match", "if-modified-since",
        "if-none-match", "if-range", "if-unmodified-since", "prefer", "range", "repr-digest", "user-agent",
    ]

    /// Whether the credentials of the client belong to that origin.
    func contains(_ origin: Origin) -> Bool {
        origin == own || !trusted.isEmpty && trusted.contains(origin)
    }

    /// Whether that is the origin of one of the client's servers.
    func isOwn(_ origin: Origin) -> Bool { origin == own || !servers.isEmpty && servers.contains(origin) }

    /// Whether a request on the way from one origin to the other is still at home, or stays where it is.
    func connects(_ old: Origin, _ new: Origin) -> Bool {
        old == new || !trusted.isEmpty && contains(old) && contains(new)
    }

    /// Whether a header may go to any origin.
    func mayLeave(_ field: HTTPHeaders.Field) -> Bool {
        Self.harmless.contains(field.name.lowercased()) && !secretNames.contains(field.name, in: .header)
    }

    /// Notes that a request which a middleware passes on has left the origin, and takes from it what the middleware has
    /// received and may be a credential. What the middleware itself has set was set for that server.
    ///
    /// Not inlined: what it needs would be part of the frame of every call that waits in a middleware.
    @inline(never)
    func cross(_ request: inout HTTPRequest, _ context: inout CallContext, since received: HTTPRequest) {
        context.hasLeftOrigin = true
        guard request.url.origin != received.url.origin else { return }
        func line(_ field: HTTPHeaders.Field) -> String { "\(field.name.lowercased()): \(field.value)" }
        let old = Set(received.headers.fields.map(line))
        request.headers = HTTPHeaders(request.headers.fields.filter { !old.contains(line($0)) || mayLeave($0) })
        if let queryKey { request.url = request.url.removing { $0 == queryKey.name && $1 == queryKey.value } }
    }
}
