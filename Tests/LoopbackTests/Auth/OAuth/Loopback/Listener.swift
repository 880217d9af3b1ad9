import Foundation

/// A socket that listens at a port of this machine. Once it is closed, another test may listen at the same port, so it
/// is known by more than that.
struct Listener {
    private let port: Int
    private let isIPv6: Bool
    /// The address and the number of the socket, as the system lists it; `nil` where it has no such list.
    private let entry: (address: Substring, number: Substring)?

    /// Finds the one at that port; `nil` if nothing listens there.
    init?(_ port: Int, isIPv6: Bool = false) {
        (self.port, self.isIPv6) = (port, isIPv6)
        guard RawConnection(port, isIPv6: isIPv6) != nil else { return nil }
        entry = Self.entries(isIPv6: isIPv6)?.first { $0.address.hasSuffix(":" + String(port, radix: 16).uppercased()) }
    }

    var isOpen: Bool {
        guard let entry else { return RawConnection(port, isIPv6: isIPv6) != nil }
        return Self.entries(isIPv6: isIPv6)?.contains { $0.number == entry.number } == true
    }

    /// Whether it is reached at the address of this machine alone; `nil` if the system does not say so.
    var isLocal: Bool? {
        entry.map { $0.address.hasPrefix(isIPv6 ? "00000000000000000000000001000000:" : "0100007F:") }
    }

    private static func entries(isIPv6: Bool) -> [(address: Substring, number: Substring)]? {
        let table = FileManager.default.contents(atPath: isIPv6 ? "/proc/net/tcp6" : "/proc/net/tcp")
        guard let table, !table.isEmpty else { return nil }
        return String(decoding: table, as: UTF8.self).split(separator: "\n").dropFirst().compactMap { line in
            let columns = line.split(separator: " ")
            // The state of a socket that listens.
            guard columns.count > 9, columns[3] == "0A" else { return nil }
            return (columns[1], columns[9])
        }
    }
}
