/// What an operator should know about a server, from what it says about itself.
struct RedisWarnings {
    private let facts: [Substring: Substring]

    /// Reads the answer to `INFO`: lines with a name, a colon and a value.
    init(_ info: String) {
        let pairs = info.split(whereSeparator: \.isNewline).compactMap { line -> (Substring, Substring)? in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count == 2 ? (parts[0], parts[1]) : nil
        }
        facts = Dictionary(pairs) { first, _ in first }
    }

    /// The warnings about a server.
    ///
    /// - Parameter sync: The value of `appendfsync`; `nil` if the user may not ask for it.
    func texts(about address: RedisAddress, sync: String?) -> [String] {
        [persistence(sync), memory, replicas].compactMap(\.self).map { "\(address) \($0)" }
    }

    private func persistence(_ sync: String?) -> String? {
        guard facts["aof_enabled"] == "1" else {
            return "does not keep its records: a restart loses the last of them, or all. Set `appendonly yes`"
        }
        guard let sync else { return "does not say what `appendfsync` is, because the user lacks `+config|get`" }
        guard sync != "always" else { return nil }
        return
            "answers writes before they are on the disk (`appendfsync \(sync)`): if its machine fails, the writes of "
            + "the last second or more are lost. Set `appendfsync always`"
    }

    private var memory: String? {
        guard let most = facts["maxmemory"], most != "0", let policy = facts["maxmemory_policy"], policy != "noeviction"
        else { return nil }
        return
            "removes records when its memory is full (`maxmemory-policy \(policy)`). Set `maxmemory-policy noeviction`"
    }

    private var replicas: String? {
        guard let count = facts["connected_slaves"], count != "0" else { return nil }
        return "has replicas, which receive a write after it was answered: one that takes over may lack the last writes"
    }
}
