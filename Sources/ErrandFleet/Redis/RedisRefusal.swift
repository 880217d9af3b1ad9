/// What an error of a Redis server means.
struct RedisRefusal: Error, Hashable {
    /// The codes that the errors inside of a script may have, which Redis 6 puts into the text of another error.
    private static let inner = [
        "WRONGTYPE", "NOPERM", "OOM", "MISCONF", "READONLY", "NOREPLICAS", "LOADING", "MASTERDOWN", "CLUSTERDOWN",
    ]
    /// The longest part of the server's words that is shown.
    private static let longest = 200

    let error: FleetStoreError
    /// Whether the connection is of no use any more.
    var endsConnection = false

    /// Reads an error as it was sent: a code, and words.
    ///
    /// - Parameters:
    ///   - secret: What is not shown, in case the server repeats it.
    ///   - key: The key that the command was about, if it was about one.
    init(_ bytes: [UInt8], from address: RedisAddress, hiding secret: String? = nil, about key: String? = nil) {
        let text = String(decoding: bytes, as: UTF8.self)
        let isSecret = secret.map { !$0.isEmpty && text.contains($0) } ?? false
        let said = "\(address) says: \(isSecret ? "words with the password" : Self.quoted(bytes))"
        let words = text.split(separator: " ")
        var code = words.first.map(String.init) ?? ""
        if code == "ERR" {
            let isForbidden = text.contains("user executing the script")
            code = Self.inner.first { name in words.contains { $0 == name || $0 == "-\(name)" } } ?? code
            if isForbidden { code = "NOPERM" }
        }
        switch code {
        case "NOAUTH":
            error = FleetStoreError(.refused, "\(said); it requires a user and a password")
        case "NOPERM":
            error = FleetStoreError(.refused, "\(said); the user needs other permissions")
        case "WRONGPASS", "DENIED": error = FleetStoreError(.refused, said)
        case "READONLY":
            error = FleetStoreError(.refused, "\(address) is a replica; give the address of the primary server")
            endsConnection = true
        case "OOM": error = FleetStoreError(.full, said)
        case "MISCONF": error = FleetStoreError(.full, "\(said); it cannot save what is written")
        case "WRONGTYPE":
            let place = key.map { "\($0) or \(RedisScript.counter)" } ?? RedisScript.counter
            error = FleetStoreError(.damaged, "\(said); what is under \(place) is not of this store; remove it")
        case "MOVED", "ASK":
            error = FleetStoreError(.invalid, Self.cluster(address))
            endsConnection = true
        case "LOADING", "MASTERDOWN", "BUSY", "TRYAGAIN", "CLUSTERDOWN", "NOREPLICAS":
            error = FleetStoreError(.unreachable, said)
        case "NOPROTO": error = FleetStoreError(.other, Self.old(address))
        case "ERR" where text.utf8.starts(with: "ERR max number of clients".utf8):
            error = FleetStoreError(.unreachable, said)
        default: error = FleetStoreError(.other, said)
        }
    }

    static func cluster(_ address: RedisAddress) -> String {
        "\(address) is a node of a Redis Cluster, which is not supported; give the address of one server"
    }

    static func old(_ address: RedisAddress) -> String {
        "\(address) is older than Redis 6, which is needed; update it"
    }

    /// The beginning of the server's words, as text without control characters.
    static func quoted(_ bytes: [UInt8]) -> String {
        let text = String(decoding: bytes.prefix(longest), as: UTF8.self)
        return text.debugDescription + (bytes.count > longest ? "…" : "")
    }
}

/// What a server says about itself, in its answer to `HELLO`.
enum RedisGreeting {
    /// Returns why a server that answers so cannot be used; `nil` if it can.
    static func problem(
        _ answer: RedisValue, at address: RedisAddress, hiding secret: String?
    ) -> FleetStoreError? {
        if case .error(let bytes) = answer {
            let isOld = String(decoding: bytes, as: UTF8.self).lowercased().hasPrefix("err unknown command")
            if isOld { return FleetStoreError(.other, RedisRefusal.old(address)) }
            return RedisRefusal(bytes, from: address, hiding: secret).error
        }
        guard case .map = answer, answer["proto"] == .number(3) else {
            return FleetStoreError(.damaged, "\(address) does not answer as Redis 6 does")
        }
        switch answer["mode"]?.text {
        case "cluster": return FleetStoreError(.invalid, RedisRefusal.cluster(address))
        case "sentinel":
            return FleetStoreError(
                .invalid, "\(address) is a Redis Sentinel; give the address of the server that it watches")
        default: break
        }
        guard answer["role"]?.text ?? "master" == "master" else {
            return FleetStoreError(.refused, "\(address) is a replica; give the address of the primary server")
        }
        return nil
    }
}
