public import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Keeps a session in the store of a fleet, so that many machines share it and one of them refreshes its token.
///
///     let sessions = FleetSessions(in: store, under: "errand/billing", name: "example-api", key: key)
///     let tokens = TokenStore(persistence: sessions) { old in try await oauth.refresh(old) }
///
/// The session is one record, encrypted and authenticated with AES-GCM. A wrong key, a changed record, one that was
/// moved to another name, and an older one that was put back are typed errors, and nothing overwrites such a record;
/// ``discard()`` removes it. An older record is noticed by the nodes that have seen a newer one; a session that begins
/// after a removal is accepted by all of them.
///
/// Before a node uses the refresh token, it writes a mark into the record: the token may be spent from now on. Its
/// refresh ends at nine tenths of the `lifetime`, counted from before it began to write: nothing is sent with the token
/// after that, and a request that is under way is canceled. If the node is killed or stopped, another one sees the mark
/// unchanged for one full `lifetime` on its own clock. Then it writes its own mark and tries the old token once: the
/// server accepts it if it was not spent, and otherwise ends the session, and the user has to sign in again.
///
/// A new token is saved before a call uses it, and the other nodes use it as soon as the store reports the change. A
/// node that has missed the report finds the token when its own one is due or refused, before it refreshes anything.
/// While the store cannot be reached, nodes use the token that they have; none refreshes it.
public final class FleetSessions: TokenPersistence {
    /// How long a token that the server has issued is kept trying to be saved: 2 minutes.
    private static let savingLimit = Duration.seconds(120)
    private static let pauses: [Duration] = [.milliseconds(100), .milliseconds(500), .seconds(1), .seconds(3)]

    let archive: SessionArchive
    let marks: SessionMarks
    private let time: any TimeSource

    /// Creates a persistence for one session.
    ///
    /// - Parameters:
    ///   - store: The store of the fleet.
    ///   - prefix: What the store's keys of this fleet begin with. The record is at `prefix/sessions/name`.
    ///   - name: The name of the session, the same on all nodes.
    ///   - key: The key with which records are encrypted.
    ///   - oldKeys: Further keys with which records can be read.
    ///   - lifetime: How long a refresh may take, and how long the others wait for a node that has died during one; 30
    ///     seconds by default.
    ///   - node: The name of this node, for people; a random one by default.
    ///   - time: The source of time.
    public init(
        in store: any FleetStore, under prefix: String, name: String, key: FleetKey, oldKeys: [FleetKey] = [],
        lifetime: Duration = .seconds(30), node: String? = nil, time: any TimeSource = .system
    ) {
        let cipher = SessionCipher(storeKey: "\(prefix)/sessions/\(name)", key: key, oldKeys: oldKeys)
        archive = SessionArchive(store, cipher, time: time)
        marks = SessionMarks(
            in: archive, node: node ?? time.randomUUID().uuidString, lifetime: lifetime, time: time)
        self.time = time
    }

    /// The key of the record in the store.
    public var storeKey: String { archive.cipher.storeKey }

    /// Returns the saved session; `nil` if there is none.
    public func load() async throws(TokenPersistenceError) -> SavedSession? {
        do throws(TokenPersistenceError) {
            return try await archive.read()?.record.session
        } catch {
            // A refresh token must not be spent when the new one cannot be saved.
            marks.loseLock(error.message)
            throw error
        }
    }

    /// Saves the session, or that there is none. What has begun is finished, even if the task is canceled.
    public func save(_ session: SavedSession?) async throws(TokenPersistenceError) {
        _ = try await write(session, isIssued: false) { _ in true }
    }

    /// Saves the session, or that there is none, if that version is saved. What has begun is finished, even if the task
    /// is canceled. While the store fails, it tries again to save a new token, for up to two minutes: only this node
    /// has it, and the saved one is spent.
    public func replace(
        _ version: SavedSession.Version, with session: SavedSession?
    ) async throws(TokenPersistenceError) -> Bool {
        try await write(session, isIssued: session != nil) { $0?.session?.version == version }
    }

    /// Runs `body` while the mark of this node is in the record. It waits for another node's mark until that is
    /// removed, or was there unchanged for its lifetime.
    public func exclusively(_ body: @Sendable (SessionLock) async -> Void) async throws(TokenPersistenceError) {
        let held = try await marks.acquire()
        await body(held.lock)
        await finishing { await self.marks.release(held) }
    }

    /// Returns a stream with an element for each time that the session has changed, by any node.
    public func changes() -> AsyncStream<Void>? {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        // Owned by the stream.
        let task = time.startTask { [archive, time] in
            await Self.follow(archive, time: time) { continuation.yield() }
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// Removes the record, even if it cannot be read: after a key was lost, or after somebody has put back an older
    /// record. All nodes are signed out then.
    public func discard() async throws(FleetStoreError) {
        try await archive.remove()
    }

    // MARK: Writing

    /// Writes the session if the record meets the condition. Returns whether it did. If the server has issued the
    /// session's token in exchange for the saved one, only this node has a token that is not spent.
    private func write(
        _ session: SavedSession?, isIssued: Bool, if isExpected: @escaping @Sendable (SessionRecord?) -> Bool
    ) async throws(TokenPersistenceError) -> Bool {
        try await finishing {
            await Result(of: { () async throws(TokenPersistenceError) in
                try await self.writeNow(session, isIssued: isIssued, if: isExpected)
            })
        }.get()
    }

    /// A write whose answer was lost may have been made, or may be made until the record's revision changes; and one
    /// that was repeated on the way finds what it has written itself. All attempts have the same `writer`, by which a
    /// later one finds that an earlier one was made.
    private func writeNow(
        _ session: SavedSession?, isIssued: Bool, if isExpected: (SessionRecord?) -> Bool
    ) async throws(TokenPersistenceError) -> Bool {
        let writer = time.randomUUID()
        let end = time.now.advanced(by: Self.savingLimit)
        var (failures, hasTried) = (0, false)
        while true {
            var problem: FleetStoreError
            do throws(SessionArchive.Failure) {
                let found = try await archive.find()
                if isMade(found?.record, writer, session, hasTried: hasTried) { return true }
                guard isExpected(found?.record) else { return false }
                hasTried = true
                switch try await write(session, by: writer, over: found) {
                case .written:
                    if found != nil { return true }
                    continue
                case .changed: continue
                case .unknown(let error):
                    // A user who signs in waits for the answer.
                    if error.kind == .refused, !isIssued { throw SessionArchive.Failure.store(error) }
                    problem = error
                }
            } catch {
                guard case .store(let reason) = error,
                    isIssued ? reason.kind != .invalid : reason.kind == .unreachable
                else { throw error.error }
                problem = reason
            }
            guard time.now < end else { throw TokenPersistenceError(problem) }
            await pause(Self.pauses[min(failures, Self.pauses.count - 1)])
            failures += 1
        }
    }

    /// Writes the session over that record, or begins a series of records if there is none.
    private func write(
        _ session: SavedSession?, by writer: UUID, over found: SessionArchive.Found?
    ) async throws(SessionArchive.Failure) -> SessionArchive.Outcome {
        guard let found else { return try await archive.begin() }
        var record = found.record.next(by: writer)
        record.session = session
        let mark = record.mark
        if marks.isOwn(mark) { record.mark = nil }
        let outcome = try await archive.write(record, over: found)
        if case .written = outcome, record.mark == nil { marks.noteRemoved(mark) }
        return outcome
    }

    /// Whether an earlier attempt of a write was made.
    private func isMade(_ record: SessionRecord?, _ writer: UUID, _ session: SavedSession?, hasTried: Bool) -> Bool {
        guard let record else { return false }
        // Another node may have added its mark since.
        return record.writer == writer || hasTried && session != nil && record.session == session
    }

    /// Runs `work`, which is finished even if the task is canceled.
    private func finishing<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value {
        await time.startTask { await work() }.value
    }

    private func pause(_ pause: Duration) async {
        // It runs in a task that is never canceled.
        try? await time.sleep(until: time.now.advanced(by: pause), in: StopScope<FleetStoreError>())
    }

    // MARK: Changes

    private static func follow(
        _ archive: SessionArchive, time: any TimeSource, changed: @escaping @Sendable () -> Void
    ) async {
        let seen = SeenSession()
        var failures = 0
        while !Task.isCancelled {
            let before = seen.reports
            do throws(FleetStoreError) {
                try await archive.watch { if seen.isNew($0, archive.cipher) { changed() } }
            } catch {
                // The next watch begins with the record as it is then.
            }
            if seen.reports > before { failures = 0 }
            let pause = pauses[min(failures, pauses.count - 1)]
            failures += 1
            try? await time.sleep(until: time.now.advanced(by: pause), for: .watch, in: StopScope<FleetStoreError>())
        }
    }
}

/// What a watch has reported of a session.
private final class SeenSession: Sendable {
    private struct State {
        var reports = 0
        /// The session's version; the inner `nil` if there was none, the outer one if the record could not be read.
        var last: SavedSession.Version??
    }

    private let state = Lock(State())

    var reports: Int { state.withLock { $0.reports } }

    /// Notes a report. Returns whether the session has changed. A mark alone is no change; what cannot be read is
    /// reported by whoever reads it.
    func isNew(_ record: FleetRecord?, _ cipher: SessionCipher) -> Bool {
        let version: SavedSession.Version??
        if let record {
            version = (try? cipher.open(record.bytes)).map { $0.session?.version }
        } else {
            version = .some(nil)
        }
        return state.withLock { state in
            defer { (state.last, state.reports) = (version, state.reports + 1) }
            return version == nil || state.last != version
        }
    }
}

extension Result where Success: Sendable {
    fileprivate init(of operation: () async throws(Failure) -> Success) async {
        do throws(Failure) {
            self = .success(try await operation())
        } catch {
            self = .failure(error)
        }
    }
}
