import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The marks that say which node may use the refresh token of a session.
///
/// - A node that has written its mark over a known revision is the only one: every other mark needs a newer revision.
/// - Its right ends after nine tenths of the lifetime, from before the write began. Each use of the token looks at the
///   clock first (``SessionLock/loss``), the last time just before the first byte is sent. An exchange that is under
///   way is canceled then.
/// - Another node waits one lifetime from when it saw the mark first. It saw it after the write began, and clocks that
///   differ by less than a tenth in their rates agree that the first node's right is over.
/// - A mark that could not be removed, or whose write was not confirmed, is the node's own: nothing was sent under it,
///   or what was sent has ended. The node itself replaces it at once.
final class SessionMarks: Sendable {
    /// The part of the lifetime in which the token is used.
    private static let usable = 0.9
    /// The longest lifetime that a mark may ask others to wait.
    private static let longest = Duration.seconds(600)
    /// How often the record is read while another node's mark is waited for, if the watch is silent.
    private static let interval = Duration.seconds(5)

    /// A mark of this node in the record, while it may use the token.
    struct Held: Sendable {
        let mark: SessionRecord.Mark
        let lock: SessionLock
    }

    private struct State {
        var held: Held?
        /// The id of a mark that this node does not use any more, and that may be in the record.
        var abandoned: UUID?
    }

    private let archive: SessionArchive
    private let node: String
    private let lifetime: Duration
    private let time: any TimeSource
    private let state = Lock(State())

    init(in archive: SessionArchive, node: String, lifetime: Duration, time: any TimeSource) {
        self.archive = archive
        self.node = node
        self.lifetime = min(max(lifetime, .milliseconds(100)), Self.longest)
        self.time = time
    }

    /// Writes the mark of this node, when no other's is there. Throws if the store fails, the record cannot be read, or
    /// marks of others keep coming for too long.
    func acquire() async throws(TokenPersistenceError) -> Held {
        let end = time.now.advanced(by: .seconds(4 * max(lifetime.inSeconds, 15)))
        var other: (id: UUID, since: Instant)?
        var watch: RecordSignal?
        defer { watch?.end() }
        while true {
            if Task.isCancelled { throw TokenPersistenceError(.other, "the task was canceled") }
            // Before the read: it is after the other node began to write the mark in any case.
            let start = time.now
            let found = try await archive.read()
            if let mark = found?.record.mark, !isAbandoned(mark) {
                if other?.id != mark.id { other = (mark.id, time.now) }
                let since = other?.since ?? start
                let over = since.advanced(by: min(.milliseconds(max(0, mark.milliseconds)), Self.longest))
                guard start >= over else {
                    guard start < end else { throw busy(mark) }
                    let signal = watch ?? RecordSignal(archive, time: time)
                    watch = signal
                    await signal.wait(for: found?.revision, until: min(over, start.advanced(by: Self.interval)))
                    continue
                }
            }
            if let held = try await finishing(over: found) { return held }
        }
    }

    /// Removes the mark from the record. If that fails, others wait for its lifetime.
    func release(_ held: Held) async {
        let isThere = state.withLock { state in
            defer { if state.held?.mark == held.mark { state.held = nil } }
            guard state.held?.mark == held.mark else { return false }
            state.abandoned = held.mark.id
            return true
        }
        guard isThere else { return }
        for _ in 0..<5 {
            // A failure leaves the mark, which this node takes over and others outwait.
            guard let found = try? await archive.read(), found.record.mark == held.mark else { return }
            var record = found.record.next(by: time.randomUUID())
            record.mark = nil
            guard case .changed? = try? await archive.write(record, over: found) else { return }
        }
    }

    /// Whether a mark is the one that this node holds.
    func isOwn(_ mark: SessionRecord.Mark?) -> Bool {
        state.withLock { state in
            guard let mark else { return true }
            return state.held?.mark == mark || state.abandoned == mark.id
        }
    }

    /// Notes that a mark is not in the record any more.
    func noteRemoved(_ mark: SessionRecord.Mark?) {
        state.withLock { state in
            if state.held?.mark == mark { state.held = nil }
            if state.abandoned == mark?.id { state.abandoned = nil }
        }
    }

    /// Ends the right to use the token.
    func loseLock(_ reason: String) {
        let lock = state.withLock { $0.held?.lock }
        lock?.lose(reason)
    }

    private func isAbandoned(_ mark: SessionRecord.Mark) -> Bool {
        state.withLock { $0.abandoned == mark.id }
    }

    /// Writes a mark over that record, even if the task is canceled: a write that is given up may leave a mark that
    /// others outwait.
    private func finishing(over found: SessionArchive.Found?) async throws(TokenPersistenceError) -> Held? {
        let outcome = await time.startTask { () -> Result<Held?, TokenPersistenceError> in
            do throws(SessionArchive.Failure) {
                return .success(try await self.write(over: found))
            } catch {
                return .failure(error.error)
            }
        }.value
        return try outcome.get()
    }

    /// Writes a mark over that record. Returns `nil` if the record has changed, or if there was none and one was begun.
    private func write(over found: SessionArchive.Found?) async throws(SessionArchive.Failure) -> Held? {
        guard let found else {
            if case .unknown(let error) = try await archive.begin() { throw .store(error) }
            return nil
        }
        var record = found.record.next(by: time.randomUUID())
        let mark = SessionRecord.Mark(
            id: time.randomUUID(), node: node, milliseconds: Int64(lifetime.inSeconds * 1000),
            revision: record.session?.revision)
        record.mark = mark
        // From before the write on.
        let end = time.now.advanced(by: .seconds(lifetime.inSeconds * Self.usable))
        switch try await archive.write(record, over: found) {
        case .written: break
        case .changed:
            // Something on the way may have repeated the write, which then found what it had written itself.
            let present: SessionArchive.Found?
            do throws(SessionArchive.Failure) {
                present = try await archive.find()
            } catch {
                state.withLock { $0.abandoned = mark.id }
                throw error
            }
            guard present?.record.writer == record.writer else { return nil }
        case .unknown(let error):
            state.withLock { $0.abandoned = mark.id }
            throw .store(error)
        }
        let held = Held(mark: mark, lock: SessionLock(until: end, time: time))
        state.withLock { $0.held = held }
        return held
    }

    private func busy(_ mark: SessionRecord.Mark) -> TokenPersistenceError {
        TokenPersistenceError(
            .locked, "other nodes have been using the session for too long, the last was \(mark.node)")
    }
}

/// Waits for the next version of a record, or for an instant.
private final class RecordSignal: Sendable {
    private let time: any TimeSource
    private let versions: AsyncStream<FleetRevision?>
    private let version: AsyncStream<FleetRevision?>.Continuation
    private let watch: Task<Void, Never>

    init(_ archive: SessionArchive, time: any TimeSource) {
        self.time = time
        let (versions, version) = AsyncStream.makeStream(
            of: FleetRevision?.self)
        (self.versions, self.version) = (versions, version)
        // Ended by its owner. If the watch fails, the alarm still comes.
        watch = time.startTask {
            do {
                for try await record in archive.changes() { version.yield(record?.revision) }
            } catch {}
        }
    }

    /// Waits until the record has another revision than that, but no longer than until `instant`.
    func wait(for known: FleetRevision?, until instant: Instant) async {
        let alarm = time.schedule(at: instant, for: .sleeper) { [version] in version.yield(nil) }
        defer { alarm.cancel() }
        var iterator = versions.makeAsyncIterator()
        // An alarm yields no revision, which no record in use has.
        while let revision = await iterator.next(), revision == known, revision != nil {}
    }

    func end() {
        watch.cancel()
        version.finish()
    }
}
