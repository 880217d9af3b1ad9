import Errand

/// The address of a Redis server: `redis://10.0.0.5:6379`, or `rediss://` for TLS, with the number of a database or
/// without one.
struct RedisAddress: Sendable, Hashable, CustomStringConvertible {
    private static let usualPort = 6379

    let isEncrypted: Bool
    /// A name or an address, that of IPv6 without brackets.
    let host: String
    let port: Int
    let database: Int
    /// Whether others could read what is sent there.
    let isExposed: Bool

    /// The server, as messages name it.
    var description: String { "Redis at \(host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host):\(port)" }

    init(_ text: String) throws(FleetStoreError) {
        guard !text.utf8.contains(UInt8(ascii: "@")) else {
            // Without the text, which may have a password.
            throw FleetStoreError(
                .invalid, "a user and a password do not belong in the address of a Redis server; use `credentials`")
        }
        guard let scheme = ["redis://", "rediss://"].first(where: { text.hasPrefix($0) }) else {
            throw Self.problem(text, "it has to begin with redis://, or with rediss:// for TLS")
        }
        isEncrypted = scheme == "rediss://"
        let rest = text.dropFirst(scheme.count)
        guard !rest.utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else {
            throw Self.problem(text, "it has more than a host, a port and the number of a database")
        }
        let parts = rest.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        (host, port, isExposed) = try Self.place(parts[0], of: text, isEncrypted: isEncrypted)
        let path = parts.count > 1 ? parts[1] : ""
        guard let database = path.isEmpty ? 0 : Self.number(path), database <= Int(Int32.max) else {
            throw Self.problem(text, "what follows the host has to be the number of a database, as in /2")
        }
        self.database = database
    }

    private static func place(
        _ authority: Substring, of text: String, isEncrypted: Bool
    ) throws(FleetStoreError) -> (host: String, port: Int, isExposed: Bool) {
        // The colons of an address of IPv6 are in brackets.
        let bracket = authority.utf8.lastIndex(of: UInt8(ascii: "]"))
        let outside = bracket.map { authority[$0...] } ?? authority
        let colon = outside.utf8.firstIndex(of: UInt8(ascii: ":"))
        let name = authority[..<(colon ?? authority.endIndex)]
        let digits = colon.map { authority[authority.utf8.index(after: $0)...] }
        // A name that is none in an https URL is none here.
        guard !name.isEmpty, let origin = try? HTTPURL("\(isEncrypted ? "https" : "http")://\(name)/").origin else {
            throw problem(text, "it has no host")
        }
        guard let port = digits.map({ number($0) }) ?? usualPort, (1...65535).contains(port) else {
            throw problem(text, "it has no port from 1 to 65535")
        }
        let host =
            origin.host.utf8.first == UInt8(ascii: "[") ? String(origin.host.dropFirst().dropLast()) : origin.host
        return (host, port, origin.isExposed)
    }

    private static func number(_ digits: Substring) -> Int? {
        digits.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(digits) : nil
    }

    private static func problem(_ text: String, _ reason: String) -> FleetStoreError {
        FleetStoreError(.invalid, "\(text.debugDescription) is not the address of a Redis server: \(reason)")
    }
}
