#if !canImport(Network)
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The state of the kernel's routing tables, read at most once a second.
final class SystemNetwork: Sendable {
    static let shared = SystemNetwork()

    /// How long a result stays valid. A second is soon enough for a person who plugs in a cable, and reading takes
    /// microseconds.
    private static let lifetime = Duration.seconds(1)

    private let latest = Lock<(isOnline: Bool, at: ContinuousClock.Instant)?>(nil)

    /// Returns whether there is a usable route to other machines.
    func isOnline() -> Bool {
        latest.withLock { latest in
            // Not a client's clock: the tables belong to the machine, and change in its time.
            let now = ContinuousClock.now
            if let latest, latest.at.duration(to: now) < Self.lifetime { return latest.isOnline }
            let isOnline = RouteTable.current.hasWayOut
            latest = (isOnline, now)
            return isOnline
        }
    }
}

/// The routes of the machine, as Linux lists them.
struct RouteTable {
    var ipv4: String?
    var ipv6: String?

    static var current: RouteTable {
        // A table that cannot be read says nothing.
        RouteTable(ipv4: SystemFile.text(at: "/proc/net/route"), ipv6: SystemFile.text(at: "/proc/net/ipv6_route"))
    }

    /// Whether some route leads to other machines. If no table can be read, the transport has to find out.
    var hasWayOut: Bool {
        guard ipv4 != nil || ipv6 != nil else { return true }
        return hasRoute(ipv4, skippingLines: 1, interface: 0, flags: 3)
            || hasRoute(ipv6, skippingLines: 0, interface: 9, flags: 8)
    }

    /// Returns whether the table has a route with RTF_UP and without RTF_REJECT, on an interface other than the
    /// loopback. Link-local IPv6 routes lead to no server.
    private func hasRoute(_ table: String?, skippingLines: Int, interface: Int, flags: Int) -> Bool {
        for line in table?.split(separator: "\n").dropFirst(skippingLines) ?? [] {
            let columns = line.split { $0 == " " || $0 == "\t" }
            guard columns.count > max(interface, flags), columns[interface] != "lo",
                let bits = UInt32(columns[flags], radix: 16), bits & 0x1 != 0, bits & 0x200 == 0
            else { continue }
            if interface > 0, columns[0].hasPrefix("fe80") || columns[0].hasPrefix("ff") { continue }
            return true
        }
        return false
    }
}
#endif
