/// A scheme, a host and a port: what credentials belong to.
public struct Origin: Sendable, Hashable, CustomStringConvertible {
    /// `http` or `https`, in lower case.
    public let scheme: String
    /// The host in lower case; an IPv6 address in its brackets.
    public let host: String
    /// The port, the scheme's own where none was given.
    public let port: Int
    /// As it begins a URL; the port only where it is not the scheme's own.
    public let description: String
    /// Whether it is this machine: `localhost`, a name below it, 127.0.0.0/8 or ::1. Every send asks for it.
    let isLoopback: Bool

    init(scheme: String, host: String, port: Int?) {
        self.scheme = scheme
        self.host = host
        let usual = scheme == "https" ? 443 : 80
        self.port = port ?? usual
        description = self.port == usual ? "\(scheme)://\(host)" : "\(scheme)://\(host):\(self.port)"
        isLoopback = Self.isLoopback(host)
    }

    /// A number for it, never 0: the same for equal origins, and most likely for no others.
    var number: UInt64 { UInt64(truncatingIfNeeded: description.hashValue) | 1 }

    /// Whether what is sent there can be read on the way: plain http to another machine.
    var isExposed: Bool { scheme == "http" && !isLoopback }

    /// Whether the schemes, the hosts and the ports are the same.
    public static func == (left: Origin, right: Origin) -> Bool { left.description == right.description }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(description) }

    private static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
