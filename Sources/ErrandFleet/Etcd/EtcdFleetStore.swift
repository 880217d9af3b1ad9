public import Errand

/// A user of an etcd cluster. Its description does not show the password.
public struct EtcdCredentials: Sendable, Hashable, OpaqueReflectable {
    let user: String
    let password: String

    /// Creates the credentials of a user with a password.
    public static func user(_ name: String, password: String) -> EtcdCredentials {
        EtcdCredentials(user: name, password: password)
    }

    /// The name of the user.
    public var description: String { "EtcdCredentials(\(user))" }
}

/// A store in an etcd cluster, version 3.4 or later, which is called by its JSON gateway.
///
///     let store = EtcdFleetStore(["https://10.0.0.1:2379", "https://10.0.0.2:2379", "https://10.0.0.3:2379"])
///
/// Give it the addresses of all members. It calls one of them, which is chosen at random, until that fails, and then
/// the next. A read that fails is sent to each member; a write whose response was lost is not repeated, because it may
/// have been made: it fails with ``FleetStoreError/Kind/unreachable``.
///
/// Reads and writes go through the cluster's majority, so each node of a fleet sees the same. A watch is a connection
/// that is silent while nothing changes. When the cluster has compacted what a watch has missed, the record is read
/// again.
///
/// A user has a password, which travels over https only, or stays on this machine. It is exchanged for tokens, and
/// again when they expire. The gateway takes no client certificate as a user: one in the `transport` only opens the
/// connection. Addresses with `http` work, and anybody on the way can read and change what is sent.
public final class EtcdFleetStore: FleetStore {
    private let gateway: EtcdGateway
    private let timeout: Duration

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - addresses: The URLs of the members' client ports.
    ///   - credentials: The user; `nil`, the default, for a cluster without authentication.
    ///   - timeout: How long a member may take for a response; 5 seconds by default. A read takes at most that for each
    ///     member.
    ///   - transport: The transport of the calls, for example one with certificates of your own; `nil`, the platform's
    ///     own, by default.
    public convenience init(
        _ addresses: [String], credentials: EtcdCredentials? = nil, timeout: Duration = .seconds(5),
        transport: (any Transport)? = nil
    ) {
        self.init(addresses, beginningAt: nil, credentials: credentials, timeout: timeout, transport: transport)
    }

    /// Creates a store that asks the member with that index first; `nil` for any of them.
    package init(
        _ addresses: [String], beginningAt first: Int?, credentials: EtcdCredentials? = nil, timeout: Duration,
        transport: (any Transport)? = nil
    ) {
        let members = EtcdMembers(
            addresses, beginningAt: first ?? Int(SystemTime.system.random() % UInt64(max(1, addresses.count))),
            hasCredentials: credentials != nil, timeout: timeout, transport: transport)
        gateway = EtcdGateway(members, credentials: credentials)
        self.timeout = timeout
    }

    #if os(Linux)
    /// Creates a store of a cluster whose certificates an authority of your own has issued.
    ///
    /// - Parameters:
    ///   - addresses: The URLs of the members' client ports.
    ///   - certificateAuthorities: The path of a PEM file with the certificates to trust instead of the system's.
    ///   - credentials: The user; `nil`, the default, for a cluster without authentication.
    ///   - timeout: How long a member may take for a response; 5 seconds by default.
    public convenience init(
        _ addresses: [String], certificateAuthorities: String, credentials: EtcdCredentials? = nil,
        timeout: Duration = .seconds(5)
    ) {
        var options = CurlTransport.Options()
        options.certificateAuthorities = certificateAuthorities
        self.init(addresses, credentials: credentials, timeout: timeout, transport: CurlTransport(options))
    }
    #endif

    /// Returns the record under a key; `nil` if there is none.
    public func read(_ key: String) async throws(FleetStoreError) -> FleetRecord? {
        try FleetRecordRules.check(key)
        if Task.isCancelled { throw .cancelled }
        return try await gateway.read(key).record
    }

    /// Writes or removes a record in a transaction, if it still has that revision.
    public func write(
        _ bytes: [UInt8]?, to key: String, replacing revision: FleetRevision?
    ) async throws(FleetStoreError) -> FleetWrite {
        try FleetRecordRules.check(key, bytes)
        if Task.isCancelled { throw .cancelled }
        // In etcd's comparison, 0 means that there is no record.
        if let revision, revision.number == 0 { return .changed(try await gateway.read(key).record) }
        let answer = try await gateway.write(EtcdTransaction(bytes, to: key, replacing: revision))
        guard answer.succeeded == true else { return .changed(answer.responses?.first?.range?.record) }
        guard bytes != nil else { return .written(nil) }
        guard let next = answer.header.revision?.value else {
            throw FleetStoreError(.damaged, "etcd has not said the revision of a record that it has written")
        }
        return .written(FleetRevision(next))
    }

    /// Returns the record now, and after each change.
    public func changes(of key: String) -> AsyncThrowingStream<FleetRecord?, any Error> {
        RecordStream.following { [gateway, timeout] pass throws(FleetStoreError) in
            try FleetRecordRules.check(key)
            try await EtcdWatch(of: key, by: gateway, within: timeout, pass: pass).run()
        }
    }

    /// Returns what an operator should know about the cluster: members that cannot be reached or have raised an alarm,
    /// and versions with known faults. It calls each member once.
    ///
    /// Versions 3.4 before 3.4.31 and 3.5 before 3.5.13 can lose the events of a watch, and can end a lease early. A
    /// fleet reads beside each watch, so it finds a change that was lost in little more than half a minute.
    public func warnings() async -> [String] {
        await gateway.statuses().flatMap { address, status -> [String] in
            switch status {
            case .failure(let error): return ["\(address) does not answer: \(error)"]
            case .success(let status):
                let version = EtcdVersion(status.version)?.warning.map {
                    "\(address) runs etcd \(status.version), \($0)"
                }
                return (version.map { [$0] } ?? []) + (status.errors ?? []).map { "\(address) reports: \($0)" }
            }
        }
    }
}
