import Errand

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// This process as a node of the fleet: renews its record, and looks at those of others.
///
/// ``NodeLife`` makes the decisions. Renewals and looks are two loops, so that a look at a store that does not respond
/// delays no renewal. Both run while a limit is in use.
actor Member {
    private struct Published {
        var id: String
        var end = Instant(nanoseconds: .min)
        var gone: [String: Instant] = [:]
        var problem: FleetProblem?
        var limits: [(limit: SharedLimit, work: Task<Void, Never>)] = []
        var loops: Task<Void, Never>?
    }

    /// A renewal whose outcome is not known.
    private struct Attempt {
        let bytes: [UInt8]
        let sent: Instant
    }

    nonisolated let store: any FleetStore
    nonisolated let prefix: String
    nonisolated let events = Broadcast<Fleet.Event>()
    private nonisolated let label: String
    private nonisolated let time: any TimeSource
    private nonisolated let published: Lock<Published>
    private var life: NodeLife
    private var renewals: UInt64 = 0
    private var attempts: [Attempt] = []

    init(
        store: any FleetStore, prefix: String, label: String, lifetime: Duration, time: any TimeSource
    ) {
        (self.store, self.prefix, self.label, self.time) = (store, prefix, label, time)
        life = NodeLife(lifetime: lifetime)
        published = Lock(Published(id: Self.newID(label)))
    }

    /// The name of this node. It changes after others have removed it.
    nonisolated var id: String { published.withLock { $0.id } }
    /// Until when this node may use what it owns.
    nonisolated var end: Instant { published.withLock { $0.end } }
    /// Why the store cannot be used now.
    nonisolated var problem: FleetProblem? { published.withLock { $0.problem } }
    /// The limits in use.
    nonisolated var limits: [SharedLimit] { published.withLock { $0.limits.map(\.limit) } }

    /// Returns since when another node's record has been gone, or unchanged for so long that it was removed.
    nonisolated func gone(_ id: String) -> Instant? { published.withLock { $0.gone[id] } }

    /// Works for a limit, which keeps the node alive until then.
    nonisolated func work(for limit: SharedLimit, _ work: @escaping @Sendable () async -> Void) {
        published.withLock { published in
            // Its owner is the limiter, whose release ends the work.
            let task = Task(executorPreference: time.executor) {
                await work()
                await self.remove(limit)
            }
            published.limits.append((limit, task))
            guard published.loops == nil else { return }
            // Its owners are the limits: it is canceled with the last of them.
            published.loops = Task(executorPreference: time.executor) { await self.run() }
        }
    }

    /// Waits until no limit is used any more.
    nonisolated func ended() async {
        for task in published.withLock({ $0.limits.map(\.work) }) { await task.value }
    }

    /// Removes a limit. The node leaves the fleet with its last one.
    private nonisolated func remove(_ limit: SharedLimit) async {
        let loops: Task<Void, Never>? = published.withLock { published in
            published.limits.removeAll { $0.limit === limit }
            return published.limits.isEmpty ? published.loops.take() : nil
        }
        guard let loops else { return }
        loops.cancel()
        await loops.value
        await leave()
    }

    /// Notes that the store has failed.
    nonisolated func note(_ error: FleetStoreError) {
        guard error.kind != .cancelled else { return }
        let isNew = published.withLock { published in
            defer { published.problem = FleetProblem(error.message) }
            return published.problem?.message != error.message
        }
        if isNew { events.send(.storeFailed(error)) }
    }

    /// Notes that the store has responded.
    nonisolated func noteSuccess() {
        let hadFailed = published.withLock { $0.problem.take() != nil }
        if hadFailed { events.send(.storeRecovered) }
    }

    private nonisolated func key(of id: String) -> String { "\(prefix)/nodes/\(id)" }

    private static func newID(_ label: String) -> String {
        let random = SystemRandom.text().prefix(8)
        return "\(label)\(label.isEmpty ? "" : ".")\(ProcessInfo.processInfo.processIdentifier).\(random)"
    }

    private func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.renew() }
            group.addTask { await self.inspect() }
        }
    }
}

extension Member {
    private func renew() async {
        while !Task.isCancelled {
            renewals += 1
            let attempt = Attempt(bytes: Array(#"{"node":"\#(id)","renewal":\#(renewals)}"#.utf8), sent: time.now)
            var pause = life.renewal
            do throws(FleetStoreError) {
                let outcome = try await store.write(attempt.bytes, to: key(of: id), replacing: life.revision)
                noteSuccess()
                if !accept(outcome, of: attempt) { pause = .zero }
            } catch {
                note(error)
                // Whether it was written shows the next time.
                attempts.append(attempt)
                pause = life.renewal / 4
            }
            wakeLimits()
            await time.pause(pause)
        }
    }

    /// Accepts the outcome of a renewal. Returns `false` if another has to follow at once.
    private func accept(_ outcome: FleetWrite, of attempt: Attempt) -> Bool {
        switch outcome {
        case .written(let revision?):
            attempts = []
            life.renewed(revision, sentAt: attempt.sent)
            publish()
            return true
        case .changed(let record?):
            defer { attempts = [] }
            if let made = attempts.first(where: { $0.bytes == record.bytes }) {
                // A renewal whose response was lost was made after all.
                life.renewed(record.revision, sentAt: made.sent)
                publish()
                return false
            }
            beginAgain()
            return false
        case .changed(nil), .written(nil):
            beginAgain()
            return false
        }
    }

    /// Others have removed this node. It owns nothing any more, and goes on under another name.
    private func beginAgain() {
        attempts = []
        life.removed()
        let old = published.withLock { published in
            defer { published.id = Self.newID(label) }
            return published.id
        }
        publish()
        events.send(.removed(old))
    }

    private func inspect() async {
        while !Task.isCancelled {
            let now = time.now
            var inspected: Set<String> = []
            var all: Set<String> = []
            for limit in limits {
                all.formUnion(limit.nodes)
                inspected.formUnion(life.inspects(limit.nodes, as: id, at: now))
            }
            life.keep(all)
            for other in inspected where life.gone(other) == nil { await inspect(other) }
            publish()
            wakeLimits()
            let next = inspected.compactMap { life.dueRemoval(of: $0) }.filter { $0 > time.now }.min()
            let usual = time.now.advanced(by: life.inspection)
            await time.pause(time.now.duration(to: min(usual, next ?? usual)))
        }
    }

    private func inspect(_ other: String) async {
        do throws(FleetStoreError) {
            let record = try await store.read(key(of: other))
            guard case .remove(let revision) = life.inspected(other, record?.revision, at: time.now) else { return }
            if case .written = try await store.write(nil, to: key(of: other), replacing: revision) {
                life.removedOther(other)
                events.send(.removedNode(other))
            }
        } catch {
            note(error)
        }
    }

    private func publish() {
        let gone = Dictionary(
            uniqueKeysWithValues: limits.flatMap(\.nodes).uniqued.compactMap { id in life.gone(id).map { (id, $0) } })
        published.withLock { published in
            published.end = life.end
            published.gone = gone
        }
    }

    private nonisolated func wakeLimits() {
        for limit in limits { limit.look() }
    }

    /// Removes this node's record, so that others need not wait for its end.
    private func leave() async {
        defer {
            life.removed()
            publish()
        }
        guard let revision = life.revision else { return }
        _ = try? await store.write(nil, to: key(of: id), replacing: revision)
    }
}

/// What keeps a part of the fleet from working.
struct FleetProblem: Hashable, Sendable {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}

extension Sequence where Element: Hashable {
    fileprivate var uniqued: Set<Element> { Set(self) }
}
