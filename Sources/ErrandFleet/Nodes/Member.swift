import Errand

/// This process as a node of the fleet: renews its record, and looks at those of others.
///
/// ``NodeLife`` makes the decisions. Renewals and looks are two loops, so that a look at a store that does not respond
/// delays no renewal. Both run while a limit is in use. A node that owns nothing and whose calls do not wait has no
/// record, but for a lifetime after it has lost its last permit: if it were killed, nobody would look at it, and its
/// record would stay forever.
actor Member {
    /// What is done for a limit.
    struct Work {
        let limit: SharedLimit
        /// The number of the run that is under way, or begins after it.
        var run = 0
        /// The end of that run; `nil` if none is under way.
        var task: Task<Void, Never>?
        /// Whether the program leaves the fleet, which ends the run.
        var isLeaving = false
    }

    struct Published {
        var standing: Standing
        var gone: [String: Instant] = [:]
        var troubles = StoreTroubles()
        /// When the store has responded last.
        var lastContact: Instant?
        /// What the store has warned of; `nil` before it was asked.
        var warnings: [String]?
        /// By the key of their records. One that has ended is kept while its node still owns permits that were used:
        /// the next use has to count them.
        var limits: [String: Work] = [:]
        var loops: Task<Void, Never>?
        /// The end of the loops before.
        var leaving: Task<Void, Never>?
        /// Wakes the loop that looks at other nodes. Each loop has its own, because canceling a loop ends for good what
        /// it waits on.
        var looks = WakeUp()
        /// Wakes the loop that renews the record.
        var needs = WakeUp()
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
    nonisolated let time: any TimeSource
    nonisolated let published: Lock<Published>
    private var life: NodeLife
    private var renewals: UInt64 = 0
    private var attempts: [Attempt] = []
    private var hasRun = false
    /// Whether the lifetime is over because no renewal has succeeded, and when others have removed this node last.
    private var (hasLapsed, lastRemoval) = (false, Instant(nanoseconds: .min))
    /// Whether this node is removing its own record, and whether it may have done so without hearing of it.
    private var (isLeavingName, mayHaveLeft) = (false, false)

    init(
        store: any FleetStore, prefix: String, label: String, lifetime: Duration, time: any TimeSource
    ) {
        (self.store, self.prefix, self.label, self.time) = (store, prefix, label, time)
        life = NodeLife(lifetime: lifetime)
        published = Lock(Published(standing: Standing(under: label)))
    }

    /// The name of this node. It changes after others have removed it, and after it has left the fleet.
    nonisolated var id: String { standing.id }
    /// The name of this node, and until when it may use what it owns.
    nonisolated var standing: Standing { published.withLock { $0.standing } }
    /// What this node cannot do now because of the store.
    nonisolated var troubles: StoreTroubles { published.withLock { $0.troubles } }
    /// What the store has warned of.
    nonisolated var warnings: [String] { published.withLock { $0.warnings ?? [] } }
    /// When the store has responded last; `nil` before the first time.
    nonisolated var lastContact: Instant? { published.withLock { $0.lastContact } }
    /// The limits in use.
    nonisolated var limits: [SharedLimit] {
        let limits = published.withLock { $0.limits.values.filter { $0.task != nil }.map(\.limit) }
        return limits.sorted { $0.key < $1.key }
    }

    /// Returns since when another node's record has been gone, or unchanged for so long that it was removed.
    nonisolated func gone(_ id: String) -> Instant? { published.withLock { $0.gone[id] } }

    /// Returns the limiter of the limit under that key, and works for it, which keeps the node alive until then.
    ///
    /// There is one limit for each key, however often it is used: two would both use all that the node owns.
    nonisolated func use(
        _ key: String, _ terms: LimitTerms, within: RateLimiter?, _ make: (_ node: String) -> SharedLimit
    ) -> SharedLimit.Use {
        published.withLock { published in
            var work = published.limits[key] ?? Work(limit: make(published.standing.id))
            let use = work.limit.use(terms, within: within, as: published.standing.id)
            if case .refused = use { return use }
            if work.task == nil || work.isLeaving {
                let (before, limit, run) = (work.task, work.limit, work.run + 1)
                (work.run, work.isLeaving) = (run, false)
                // Its owner is the limiter, whose release ends the work.
                work.task = time.startTask {
                    await before?.value
                    await self.work(for: limit, run)
                }
            }
            published.limits[key] = work
            if published.loops == nil {
                let leaving = published.leaving
                // Its owners are the limits: it is canceled with the last of them.
                published.loops = time.startTask {
                    await leaving?.value
                    await self.run()
                }
            }
            return use
        }
    }

    /// Ends the work for all limits, and waits until it has ended.
    nonisolated func leave(atMost wait: Duration) async {
        let tasks = published.withLock { published in
            for key in published.limits.keys {
                guard let work = published.limits[key], work.task != nil else { continue }
                published.limits[key]?.isLeaving = true
                work.limit.leave(run: work.run, atMost: wait)
            }
            return published.limits.values.compactMap(\.task)
        }
        for task in tasks { await task.value }
    }

    private nonisolated func work(for limit: SharedLimit, _ run: Int) async {
        while true {
            await limit.run(run)
            guard case .done(let leaving) = finish(limit, run) else { continue }
            await leaving?.value
            return
        }
    }

    private enum Finish {
        case again
        /// The node leaves the fleet with its last limit.
        case done(leaving: Task<Void, Never>?)
    }

    private nonisolated func finish(_ limit: SharedLimit, _ run: Int) -> Finish {
        let (finish, loops): (Finish, Task<Void, Never>?) = published.withLock { published in
            guard let work = published.limits[limit.key], work.run == run else { return (.done(leaving: nil), nil) }
            if !work.isLeaving, limit.isUsed { return (.again, nil) }
            if limit.hasReturnedAll {
                published.limits[limit.key] = nil
            } else {
                published.limits[limit.key] = Work(limit: limit, run: run)
            }
            guard published.limits.values.allSatisfy({ $0.task == nil }), let loops = published.loops.take() else {
                return (.done(leaving: nil), nil)
            }
            // The loops are canceled, and a canceled task cannot use the store. Its owners are those that wait for it.
            let leaving = time.startTask {
                await loops.value
                await self.leave()
            }
            published.leaving = leaving
            return (.done(leaving: leaving), loops)
        }
        loops?.cancel()
        return finish
    }

    private nonisolated func key(of id: String) -> String { "\(prefix)/nodes/\(id)" }

    private func run() async {
        // A name is used once: whoever has seen its record go does not look again.
        if hasRun { _ = rename() }
        hasRun = true
        await withDiscardingTaskGroup { group in
            group.addTask { await self.renew() }
            group.addTask { await self.inspect() }
        }
    }
}

extension Member {
    private func renew() async {
        let needs = WakeUp()
        published.withLock { $0.needs = needs }
        var idleRenewals = 0
        while !Task.isCancelled {
            idleRenewals = attempts.isEmpty && !limits.contains(where: \.needsNode) ? idleRenewals + 1 : 0
            // A node that has just lost its last permit often needs another soon.
            if idleRenewals > (life.revision == nil ? 0 : 3) {
                await rest(until: needs)
                continue
            }
            renewals += 1
            let attempt = Attempt(bytes: Array(#"{"node":"\#(id)","renewal":\#(renewals)}"#.utf8), sent: time.now)
            var pause = life.renewal
            do throws(FleetStoreError) {
                let outcome = try await store.write(attempt.bytes, to: key(of: id), replacing: life.revision)
                noteSuccess(in: .renewals)
                noteContact()
                if let sooner = accept(outcome, of: attempt) { pause = sooner }
            } catch {
                note(error, in: .renewals)
                // Whether it was written shows the next time.
                attempts.append(attempt)
                noteLapse()
                pause = retry
            }
            wakeLimits()
            if renewals == 1 { pause = pause * share }
            await time.pause(pause)
        }
    }

    /// Removes this node's record, and waits until it needs one again.
    private func rest(until needs: WakeUp) async {
        if let revision = life.revision {
            // From now on a limit takes nothing under the name that ends. One that needs this node has said so before.
            isLeavingName = true
            publish()
            guard !limits.contains(where: \.needsNode) else {
                isLeavingName = false
                publish()
                return wakeLimits()
            }
            mayHaveLeft = true
            do throws(FleetStoreError) {
                _ = try await store.write(nil, to: key(of: id), replacing: revision)
            } catch {
                isLeavingName = false
                note(error, in: .renewals)
                publish()
                wakeLimits()
                await time.pause(retry)
                return
            }
            noteContact()
            // Its name is used once.
            _ = rename()
            publish()
            wakeLimits()
        }
        noteSuccess(in: .renewals)
        await needs.wait()
    }

    /// Tells once that this node may not use what it owns.
    private func noteLapse() {
        guard !hasLapsed, life.revision != nil, life.end <= time.now else { return }
        hasLapsed = true
        events.send(.permitsLost)
    }

    /// Nodes that have begun together, or have failed together, come one after the other from then on.
    private var share: Double { Double(time.random() % 1000) / 1000 }
    private var retry: Duration { life.renewal / 4 * (0.5 + share) }

    /// Accepts the outcome of a renewal. Returns when another has to follow, if that is sooner than usual.
    private func accept(_ outcome: FleetWrite, of attempt: Attempt) -> Duration? {
        switch outcome {
        case .written(let revision?):
            attempts = []
            (hasLapsed, mayHaveLeft) = (false, false)
            life.renewed(revision, sentAt: attempt.sent)
            publish()
            return nil
        case .changed(let record?):
            let known = attempts + [attempt]
            attempts = []
            guard let made = known.first(where: { $0.bytes == record.bytes }) else { return beginAgain() }
            // A renewal whose response was lost was made after all, or something on the way has repeated this one.
            (hasLapsed, mayHaveLeft) = (false, false)
            life.renewed(record.revision, sentAt: made.sent)
            publish()
            return made.bytes == attempt.bytes ? nil : .zero
        case .changed(nil), .written(nil): return beginAgain()
        }
    }

    /// Others have removed this node. It owns nothing any more, and goes on under another name: at once, but if that
    /// happens again and again, each name leaves a key.
    private func beginAgain() -> Duration {
        let (hasLeft, old) = (mayHaveLeft, rename())
        // This node has removed its record itself, and has not heard of it.
        if hasLeft { return .zero }
        events.send(.removed(old))
        let now = time.now
        defer { lastRemoval = now }
        return lastRemoval.advanced(by: life.lifetime) > now ? retry : .zero
    }

    /// Gives this node another name, under which it owns nothing. Returns the old one.
    private func rename() -> String {
        (attempts, isLeavingName, mayHaveLeft) = ([], false, false)
        life.removed()
        return published.withLock { published in
            let old = published.standing.id
            published.standing = Standing(under: label)
            // What they own under the old name is for others to release.
            published.limits = published.limits.filter { $0.value.task != nil }
            return old
        }
    }

    private func inspect() async {
        let looks = WakeUp()
        published.withLock { $0.looks = looks }
        defer { looks.cancelAlarm() }
        while !Task.isCancelled {
            await warn()
            let all = limits
            let seen = all.map(\.nodes)
            // What was seen of the nodes of other limits still counts when this one needs their permits.
            life.keep(Set(seen.map(\.ids).joined()), longest: seen.map(\.lifetime).max() ?? .zero)
            let limits = all.filter(\.needsNode)
            let ids = limits.map(\.nodes.ids)
            var inspected = life.predecessors(in: ids, of: id)
            // Those that are gone too, in case that a record has come back.
            var failure = await inspect(inspected)
            let isStarving = limits.contains(where: \.isStarving)
            let others = life.suspects(in: ids, of: id, isStarving: isStarving, at: time.now)
            // A store that does not respond would take as long again.
            if failure?.kind != .unreachable { failure = await inspect(others) ?? failure }
            // One failure is one of the round, and a round without any ends the one before.
            if let failure { note(failure, in: .inspections) } else { noteSuccess(in: .inspections) }
            inspected.formUnion(others)
            publish()
            wakeLimits()
            let next = inspected.compactMap { life.dueRemoval(of: $0) }.filter { $0 > time.now }.min()
            let usual = time.now.advanced(by: life.inspection)
            looks.setAlarm(at: min(usual, next ?? usual), time)
            await looks.wait()
        }
    }

    /// Looks at other nodes, until the store does not respond. Returns the last failure.
    private func inspect(_ others: Set<String>) async -> FleetStoreError? {
        var failure: FleetStoreError?
        for other in others {
            do throws(FleetStoreError) {
                try await inspect(other)
            } catch {
                failure = error
                // Each of the others would take as long.
                if error.kind == .unreachable { break }
            }
        }
        return failure
    }

    private func inspect(_ other: String) async throws(FleetStoreError) {
        let record = try await store.read(key(of: other))
        guard case .remove(let revision) = life.inspected(other, record?.revision, at: time.now),
            case .written = try await store.write(nil, to: key(of: other), replacing: revision)
        else { return }
        life.removedOther(other)
        events.send(.removedNode(other))
    }

    private func publish() {
        let gone = Dictionary(
            uniqueKeysWithValues: limits.flatMap(\.nodes.ids).uniqued.compactMap { id in
                life.gone(id).map { (id, $0) }
            })
        published.withLock { published in
            published.standing.end = isLeavingName ? Instant(nanoseconds: .min) : life.end
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
            // What they own under this name can no longer be used, and work that is kept would keep this node.
            published.withLock { $0.limits = $0.limits.filter { $0.value.task != nil } }
            publish()
            for part in [StoreTroubles.Part.renewals, .inspections] { noteSuccess(in: part) }
        }
        guard let revision = life.revision else { return }
        // If that fails, the others wait for the end of its lifetime.
        _ = try? await store.write(nil, to: key(of: id), replacing: revision)
    }
}

extension Sequence where Element: Hashable {
    fileprivate var uniqued: Set<Element> { Set(self) }
}
