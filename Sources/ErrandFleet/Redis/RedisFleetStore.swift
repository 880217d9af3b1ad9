import Errand

/// A store in a Redis server, version 6 or later, or in Valkey.
///
///     let store = RedisFleetStore("redis://10.0.0.5:6379", credentials: .user("billing", password: password))
///
/// It has one connection, for all reads, writes and watches: it is opened when it is needed, checked every 10 seconds
/// while it is used, and closed when nothing has needed it for half a minute. A read that has lost its connection is
/// sent once more. A write whose response was lost is not repeated, because it may have been made: it fails with
/// ``FleetStoreError/Kind/unreachable``.
///
/// ## What Redis keeps
///
/// By default, Redis confirms a write before it is safe. Set `appendonly yes` and `appendfsync always`,
/// and `maxmemory-policy noeviction` if memory is limited; ``warnings()`` checks that. A replica that takes over may
/// lack the last writes. No revision comes twice even then, if its clock is not behind that of the server before: each
/// is the time of the server in microseconds, or one more than the last.
///
/// ## Keys and permissions
///
/// A record is a hash under its key, with the fields `r` and `b`. `errand:revisions` has the last revision, and changes
/// are published in channels that begin with `errand:`, the number of the database and a colon. A fleet's keys begin
/// with `errand/`. A user needs the keys `~errand/* ~errand:revisions`, the channels `&errand:0:*`, and the commands
/// `hello`, `select`, `hmget`, `eval`, `get`, `set`, `hset`, `del`, `time`, `publish`, `subscribe` and `unsubscribe`;
/// ``warnings()`` needs `info` and `config|get`, too. Redis 6.0 has no permissions for channels.
///
/// ## One server
///
/// Give it the address of a primary server. Replicas, nodes of a Redis Cluster and Sentinels are refused. Where another
/// server may take over, give a name that leads to the primary one: it is looked up for each connection, and a server
/// that has become a replica is left within 10 seconds.
///
/// A password travels over TLS (`rediss://`) or to this machine only. Without TLS, anybody on the way can read and
/// change what is sent. TLS needs Linux, where libcurl provides it; elsewhere, run a proxy such as stunnel on the
/// node's machine.
public final class RedisFleetStore: FleetStore {
    private let client: Result<RedisClient, FleetStoreError>
    private let database: Int

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - address: The address of the server, with the number of a database or without one: `redis://10.0.0.5:6379/2`.
    ///     With `rediss://`, the connection uses TLS.
    ///   - credentials: The user; `nil`, the default, for a server without passwords.
    ///   - timeout: How long a connection may take, and how long a request may take for its response; 5 seconds by
    ///     default.
    ///   - sendsPasswordUnencrypted: Whether the password may go over a network without TLS. Only where nobody else has
    ///     access to that network.
    public convenience init(
        _ address: String, credentials: RedisCredentials? = nil, timeout: Duration = .seconds(5),
        sendsPasswordUnencrypted: Bool = false
    ) {
        self.init(
            address, credentials: credentials, timeout: timeout, sendsPasswordUnencrypted: sendsPasswordUnencrypted,
            idleTime: .seconds(30))
    }

    #if os(Linux)
    /// Creates a store of a server whose certificate an authority of your own has issued.
    ///
    /// - Parameters:
    ///   - address: The address of the server, which begins with `rediss://`.
    ///   - certificateAuthorities: The path of a PEM file with the certificates to trust instead of the system's.
    ///   - credentials: The user; `nil`, the default, for a server without passwords.
    ///   - timeout: How long a connection may take, and how long a request may take for its response; 5 seconds by
    ///     default.
    public convenience init(
        _ address: String, certificateAuthorities: String, credentials: RedisCredentials? = nil,
        timeout: Duration = .seconds(5)
    ) {
        self.init(
            address, credentials: credentials, timeout: timeout, idleTime: .seconds(30),
            certificateAuthorities: certificateAuthorities)
    }
    #endif

    /// Creates a store whose connection is closed after that time without use, and checked at that interval.
    init(
        _ address: String, credentials: RedisCredentials? = nil, timeout: Duration = .seconds(5),
        sendsPasswordUnencrypted: Bool = false, idleTime: Duration, checkInterval: Duration = .seconds(10),
        certificateAuthorities: String? = nil
    ) {
        do throws(FleetStoreError) {
            let address = try RedisAddress(address)
            #if !os(Linux)
            if address.isEncrypted {
                let advice = "run a proxy such as stunnel on this machine, and give its address with redis://"
                throw FleetStoreError(.invalid, "rediss:// works on Linux only; \(advice)")
            }
            #endif
            if certificateAuthorities != nil, !address.isEncrypted {
                throw FleetStoreError(.invalid, "authorities are for TLS; give an address with rediss://")
            }
            if credentials != nil, address.isExposed, !sendsPasswordUnencrypted {
                let advice = "use rediss://, or a server on this machine, or allow it with `sendsPasswordUnencrypted`"
                throw FleetStoreError(.invalid, "a password is not sent unencrypted to \(address); \(advice)")
            }
            client = .success(
                RedisClient(
                    RedisLoop.Settings(
                        address: address, credentials: credentials, timeout: timeout,
                        certificateAuthorities: certificateAuthorities, idleTime: idleTime,
                        checkInterval: checkInterval)))
            database = address.database
        } catch {
            client = .failure(error)
            database = 0
        }
    }

    /// Whether the store has a thread and a connection.
    var isConnected: Bool { (try? client.get().isRunning) ?? false }

    /// Returns the record under a key; `nil` if there is none.
    public func read(_ key: String) async throws(FleetStoreError) -> FleetRecord? {
        try FleetRecordRules.check(key)
        if Task.isCancelled { throw .cancelled }
        let answer = try await client.get().answer(to: .read(key), about: key, isRepeatable: true)
        return try RedisRecord.read(answer, of: key)
    }

    /// Writes or removes a record in a script, if it still has that revision.
    public func write(
        _ bytes: [UInt8]?, to key: String, replacing revision: FleetRevision?
    ) async throws(FleetStoreError) -> FleetWrite {
        try FleetRecordRules.check(key, bytes)
        if Task.isCancelled { throw .cancelled }
        let command = RedisCommand.write(bytes, to: key, replacing: revision, in: database)
        let answer = try await client.get().answer(to: command, about: key, isRepeatable: false)
        return try RedisRecord.written(answer, of: key, isRemoval: bytes == nil)
    }

    /// Returns the record now, and after each change.
    public func changes(of key: String) -> AsyncThrowingStream<FleetRecord?, any Error> {
        RecordStream.following { [client] pass throws(FleetStoreError) in
            try FleetRecordRules.check(key)
            try await client.get().follow(key, pass)
        }
    }

    /// Returns what an operator should know about the server: that it cannot be reached, that a restart, a failure of
    /// its machine or a replica that takes over may lose writes, or that it removes records when its memory is full.
    /// It asks with `INFO` and `CONFIG GET`.
    public func warnings() async -> [String] {
        do throws(FleetStoreError) {
            let client = try client.get()
            let info = try await client.answer(to: RedisCommand("INFO"), isRepeatable: true)
            var sync: String?
            do throws(FleetStoreError) {
                sync = try await client.answer(
                    to: RedisCommand("CONFIG", "GET", "appendfsync"), isRepeatable: true)["appendfsync"]?.text
            } catch {
                if error.kind == .cancelled || error.kind == .unreachable { throw error }
            }
            return RedisWarnings(info.text ?? "").texts(about: client.address, sync: sync)
        } catch {
            return ["\(error)"]
        }
    }
}
