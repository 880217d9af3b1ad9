/// A scheme, a host and a port: the scope of credentials.
public struct Origin: Sendable, Hashable, CustomStringConvertible {
    /// `http` or `https`, in lower case.
    public let scheme: String
    /// The host in lower case; an IPv6 address is in brackets.
    public let host: String
    /// The port; the scheme's default port if the URL has none.
    public let port: Int
    /// The beginning of a URL with this origin. It has the port only if that is not the scheme's default.
    public let description: String
    /// Whether the host is this machine: `localhost`, a name below it, 127.0.0.0/8 or ::1. Stored, because every send
    /// reads it.
    let isLoopback: Bool

    init(scheme: String, host: String, port: Int?) {
        self.scheme = scheme
        self.host = host
        let usual = scheme == "https" ? 443 : 80
        self.port = port ?? usual
        description = self.port == usual ? "\(scheme)://\(host)" : "\(scheme)://\(host):\(self.port)"
        isLoopback = Self.isLoopback(host)
    }

    /// A number for the origin, never 0: equal origins have the same number, and different ones almost never do.
    var number: UInt64 { UInt64(truncatingIfNeeded: description.hashValue) | 1 }

    /// Whether the host is an address, not a name.
    var isAddress: Bool { host.utf8.first == UInt8(ascii: "[") || host.utf8.allSatisfy(Self.isPartOfAddress) }

    /// Whether others could read what is sent there: plain http to another machine.
    package var isExposed: Bool { scheme == "http" && !isLoopback }

    /// Returns whether the schemes, the hosts and the ports are equal.
    public static func == (left: Origin, right: Origin) -> Bool { left.description == right.description }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(description) }

    /// Returns what is wrong with hosts that a setting names; `nil` if nothing is. A pattern would name hosts that
    /// nobody has looked at.
    static func problem(withHosts hosts: Set<String>, of setting: String) -> String? {
        let wrong = hosts.sorted().first { host in
            // What is not a URL has no host.
            (try? HTTPURL(reading: "https://\(host)"))?.origin.host != host.lowercased()
        }
        return wrong.map {
            "\(HTTPSyntax.quoted($0)) in \(setting); name one host, without a scheme, a port or a *"
        }
    }

    private static func isPartOfAddress(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ".") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
