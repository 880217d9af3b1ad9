public import Errand

/// The machines or processes that share rate limits and sessions.
///
/// Servers that use one API key share its limit, and those that use one account share its session. Each makes a fleet
/// of the same name over the same store:
///
///     let fleet = Fleet(store: store, name: "billing")
///     let client = APIClient("https://api.example.com") {
///         $0.limiter = fleet.limiter("example-api", .requests(100, per: .seconds(1)))
///     }
///
/// Each permit of a shared limit is owned by one node at a time, so a call that has one sends without asking the store.
/// Permits move to the nodes whose calls wait. When the store cannot be reached, a node uses what it owns until its
/// lifetime is over; the limit is never exceeded.
///
/// A fleet works from the creation of its first limiter until the last one is released, or until ``leave()``.
public final class Fleet: Sendable {
    /// What calls do when their node owns no permits because it cannot reach the store.
    public struct Outage: Sendable, Hashable {
        private enum Kind { case wait, fail }
        private let kind: Kind

        /// They wait until the store can be reached again, or until their deadline.
        public static let wait = Outage(kind: .wait)
        /// They fail with `.rateLimited` at once.
        public static let fail = Outage(kind: .fail)
    }

    /// What happens in a fleet, as one node sees it.
    @nonexhaustive public enum Event: Sendable, Hashable {
        /// A request to the store has failed. The same failure is reported once until it is over.
        case storeFailed(FleetStoreError)
        /// An operator should know this about the store: a setting that can lose writes, or a version with a fault. A
        /// node asks once, when the store has responded first.
        case storeWarning(String)
        /// No request to the store fails any more, or those that failed are no longer needed.
        case storeRecovered
        /// This node could not renew its record for a lifetime. It uses none of its permits until it can.
        case permitsLost
        /// This node has removed another one, whose record had not changed for a lifetime.
        case removedNode(String)
        /// Others have removed this node, which had that name, because it did not renew its record in time. It goes on
        /// under another name.
        case removed(String)
        /// Calls of the limit with that name wait, and no permit has moved for two periods: the nodes that own them may
        /// be gone. This node looks at all of them now.
        case starving(limit: String)
    }

    /// The name of the fleet.
    public let name: String
    private let member: Member
    private let weight: Int
    private let lifetime: Duration
    private let time: any TimeSource

    /// Creates one node of a fleet. Does not use the store yet.
    ///
    /// - Parameters:
    ///   - store: What all nodes share.
    ///   - name: The name of the fleet: letters, digits, `-`, `.` and `_`. Others are replaced by `_`, and a checksum
    ///     is added.
    ///   - node: A name for this node in snapshots; the process and a random part follow it. The name of the machine by
    ///     default.
    ///   - weight: This node's part of a limit that is used up, relative to the other nodes: from 1 to 1,000,000.
    ///   - lifetime: How long a node may use what it owns after its last renewal; the least is 2 seconds. A node renews
    ///     its record every third of it. After a node has died, its permits are free again one to two lifetimes and a
    ///     period later.
    ///   - time: The clocks to use.
    public init(
        store: any FleetStore, name: String, node: String? = nil, weight: Int = 1, lifetime: Duration = .seconds(12),
        time: any TimeSource = .system
    ) {
        self.name = name.keyPart
        self.weight = weight
        self.lifetime = max(.seconds(2), lifetime)
        self.time = time
        member = Member(
            store: store, prefix: "errand/\(self.name)", label: (node ?? MachineName.own).keyPart,
            lifetime: self.lifetime, time: time)
    }

    /// Creates one node of a fleet that shares an etcd cluster. Does not use the cluster yet.
    ///
    /// - Parameters:
    ///   - addresses: The URLs of the members' client ports.
    ///   - name: The name of the fleet.
    ///   - credentials: The user of the cluster; `nil`, the default, for a cluster without authentication.
    ///   - node: A name for this node in snapshots; the name of the machine by default.
    public convenience init(
        etcd addresses: [String], name: String, credentials: EtcdCredentials? = nil, node: String? = nil
    ) {
        self.init(store: EtcdFleetStore(addresses, credentials: credentials), name: name, node: node)
    }

    /// Creates one node of a fleet that shares a Redis server. Does not use the server yet.
    ///
    /// - Parameters:
    ///   - address: The address of the server, such as `rediss://10.0.0.5:6379`.
    ///   - name: The name of the fleet.
    ///   - credentials: The user of the server; `nil`, the default, for a server without passwords.
    ///   - node: A name for this node in snapshots; the name of the machine by default.
    public convenience init(
        redis address: String, name: String, credentials: RedisCredentials? = nil, node: String? = nil
    ) {
        self.init(store: RedisFleetStore(address, credentials: credentials), name: name, node: node)
    }

    /// Returns a persistence for a session that all nodes of the fleet share: one of them refreshes its token.
    ///
    /// - Parameters:
    ///   - name: The name of the session, the same on all nodes.
    ///   - key: The key with which the session is encrypted.
    ///   - oldKeys: Further keys with which it can be read, while keys are replaced.
    public func sessions(_ name: String, key: FleetKey, oldKeys: [FleetKey] = []) -> FleetSessions {
        FleetSessions(
            in: member.store, under: member.prefix, name: name.keyPart, key: key, oldKeys: oldKeys, node: member.id,
            time: time)
    }

    /// Returns a limiter whose limit all nodes of the fleet share.
    ///
    /// All nodes give the limit the same name and period. The node that joined last decides how many permits there are.
    /// A call with the name and the settings of a limiter that is in use returns that limiter. The first one after its
    /// release goes on with its permits. With other settings, all calls of the second limiter fail.
    /// Several limits combined with `.all` are shared each under its own name. A limit that spaces requests evenly does
    /// so on each node, for its part of the permits.
    ///
    /// - Parameters:
    ///   - name: The name of the limit, the same on all nodes.
    ///   - limit: The limit of the whole fleet.
    ///   - outage: What calls do when the store cannot be reached.
    ///   - lowering: How the limit is lowered when the server refuses calls nevertheless; `nil` for not at all.
    public func limiter(
        _ name: String, _ limit: RateLimit, whenUnreachable outage: Outage = .wait, lowering: LimitLowering? = nil
    ) -> RateLimiter {
        guard limit.problem == nil else { return RateLimiter(limit, time: time) }
        var limiter: RateLimiter?
        for (index, window) in limit.windows.enumerated().reversed() {
            // No name contains a slash, so no other limit has that key.
            let part = index == 0 ? name.keyPart : "\(name.keyPart)/\(index + 1)"
            let settings = SharedLimitSettings(window, weight: weight, lowering: lowering, lifetime: lifetime)
            let terms = LimitTerms(windows: Array(limit.windows[index...]), settings: settings, outage: outage)
            guard let next = shared(part, terms, within: limiter) else { return refusal(of: part, terms) }
            limiter = next
        }
        return limiter ?? RateLimiter(limit, time: time)
    }

    /// Returns the limiter of one limit; `nil` if this process uses that limit with other settings.
    private func shared(_ name: String, _ terms: LimitTerms, within: RateLimiter?) -> RateLimiter? {
        let key = "\(member.prefix)/limits/\(name)"
        let use = member.use(key, terms, within: within) { node in
            SharedLimit(name, key: key, terms, store: member.store, member: member, node: node, time: time)
        }
        guard case .limiter(let limiter) = use else { return nil }
        return limiter
    }

    /// Returns a limiter of no limit that is shared, so that uses with the right settings are not affected.
    private func refusal(of name: String, _ terms: LimitTerms) -> RateLimiter {
        let limiter = RateLimiter(terms.limit, of: OwnedPermits(terms.settings, owner: ""), time: time)
        let message =
            "this process uses the limit \(name) of the fleet \(self.name) with other settings; use the same, or "
            + "another name"
        limiter.refuse(.badSetting(message))
        return limiter
    }

    /// Removes the record of a limit, such as one that is damaged, so that another is made.
    ///
    /// Stop the nodes that use the limit before: then it is kept. Those that go on wait for a lifetime and a period
    /// from when they hear of the removal. But one that does not hear of it in that time, or that begins then, can
    /// exceed the limit by what it owns. A damaged file of a ``FileFleetStore`` has to be removed by hand.
    ///
    /// - Parameter name: The name of the limit.
    public func discard(_ name: String) async throws(FleetStoreError) {
        let key = "\(member.prefix)/limits/\(name.keyPart)"
        // A limit that was combined with others has further records. The first one goes last, so that this can be
        // repeated after an error.
        var keys = [key]
        while try await member.store.read("\(key)/\(keys.count + 1)") != nil { keys.append("\(key)/\(keys.count + 1)") }
        for key in keys.reversed() {
            while let record = try await member.store.read(key) {
                if case .written = try await member.store.write(nil, to: key, replacing: record.revision) { break }
            }
        }
    }

    /// What this node knows of the fleet.
    public var snapshot: Snapshot {
        let now = time.now
        let (standing, contact) = (member.standing, member.lastContact)
        return Snapshot(
            node: standing.id, timeLeft: standing.end > now ? now.duration(to: standing.end) : nil,
            sinceContact: contact.map { $0.duration(to: now) }, warnings: member.warnings,
            limits: member.limits.map(\.snapshot))
    }

    /// What happens from now on. Each stream has a queue of its own.
    public var events: AsyncStream<Event> { member.events.stream() }

    /// Returns this node's permits to the fleet, so that others need not wait for its end. Call it when a program ends.
    ///
    /// Permits that were used come back one period later; it waits for those that come back within 10 seconds. The rest
    /// is free one to two lifetimes and a period later. The limiters grant no permits any more. To go on, ask
    /// for limiters again with ``limiter(_:_:whenUnreachable:lowering:)`` when this has returned, and use those.
    public func leave() async {
        await member.leave(atMost: .seconds(10))
    }
}

extension String {
    /// The text as part of a key. A text with characters that a key may not contain, or that is too long, ends with a
    /// checksum, so that two of them hardly ever have the same part.
    var keyPart: String {
        let plain = map { $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0)) ? $0 : "_" }
        if plain.count <= 100, String(plain) == self { return self }
        // FNV-1a, which is the same in every process.
        let sum = utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return "\(String(plain.prefix(80)))_\(String(sum, radix: 16))"
    }
}
