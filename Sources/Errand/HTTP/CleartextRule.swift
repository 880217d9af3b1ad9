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

    /// Returns what is wrong with the hosts; `nil` if nothing is. A pattern would name hosts that nobody has looked at.
    static func problem(with hosts: Set<String>) -> String? {
        for host in hosts.sorted() {
            guard let url = try? HTTPURL(reading: "http://\(host)"), url.origin.host == host.lowercased() else {
                return "\(HTTPSyntax.quoted(host)) in `cleartextHosts`; name one host, without a scheme, a port or a *"
            }
        }
        return nil
    }
}
