/// What a client may send unencrypted to other machines: nothing, requests without credentials, or everything to hosts
/// that its program has named.
struct CleartextRule: Sendable {
    /// Whether requests without credentials may be sent to any host.
    let isAllowed: Bool
    /// The hosts, in lower case, that may get credentials: something else encrypts what is sent there.
    private let hosts: Set<String>

    init(isAllowed: Bool, hosts: Set<String> = []) {
        self.isAllowed = isAllowed
        self.hosts = Set(hosts.map { $0.lowercased() })
    }

    /// Whether requests may be sent to that origin.
    func allows(_ origin: Origin) -> Bool { !origin.isExposed || isAllowed || hosts.contains(origin.host) }

    /// Whether credentials may be sent to that origin.
    func allowsCredentials(at origin: Origin) -> Bool { !origin.isExposed || hosts.contains(origin.host) }

    /// Returns what is wrong with the hosts; `nil` if nothing is.
    static func problem(with hosts: Set<String>) -> String? {
        Origin.problem(withHosts: hosts, of: "`cleartextHosts`")
    }
}
