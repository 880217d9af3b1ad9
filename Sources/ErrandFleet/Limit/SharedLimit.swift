import Errand

/// A limiter's part in a limit that the fleet shares: reads and writes the record, and passes permits to the limiter.
///
/// ``LimitNode`` makes all decisions. One loop carries them out, so there is one write at a time; a watch beside it
/// brings the records of others. The loop ends when the limiter is no longer used, and returns its permits then.
actor SharedLimit {
    /// What others may read at any moment.
    private struct Published {
        var record: LimitRecord?
        var problem: FleetProblem?
        var moves = RecentMoves()
        /// When the work ends at the latest; `nil` while the limiter is used.
        var ending: Instant?
    }

    /// What the watch has found last.
    private enum Report {
        case record(FleetRecord)
        case none
    }

    nonisolated let name: String
    nonisolated let key: String
    nonisolated let settings: SharedLimitSettings
    private nonisolated let store: any FleetStore
    private nonisolated let member: Member
    private nonisolated let outage: Fleet.Outage
    private nonisolated let time: any TimeSource
    private nonisolated let published = Lock(Published())
    private nonisolated let wakeUp = WakeUp()
    private weak var limiter: RateLimiter?
    private var node: LimitNode
    private var report: Report?
    private var conflicts = 0

    init(
        _ name: String, key: String, _ settings: SharedLimitSettings, store: any FleetStore, member: Member,
        outage: Fleet.Outage, time: any TimeSource
    ) {
        (self.name, self.key, self.settings) = (name, key, settings)
        (self.store, self.member, self.outage, self.time) = (store, member, outage, time)
        node = LimitNode(id: member.id, settings: settings)
    }

    /// Works for that limiter until it is released, or the fleet is left.
    func run(for box: WeakLimiter) async {
        limiter = box.limiter
        await withDiscardingTaskGroup { group in
            group.addTask { await self.watch() }
            while await work() { await wakeUp.wait() }
            group.cancelAll()
        }
        wakeUp.cancelAlarm()
        limiter?.refuse(.rateLimited(RateLimited(message: "This node has left its fleet, so it has no permits")))
    }

    /// Looks again: calls wait, or something has changed.
    nonisolated func look() { wakeUp.signal() }

    /// Ends the work when all permits are back, at the latest one period from now.
    nonisolated func end(atMost wait: Duration? = nil) {
        let end = time.now.advanced(by: wait.map { min($0, settings.period) } ?? settings.period)
        published.withLock { $0.ending = min($0.ending ?? end, end) }
        look()
    }

    /// The nodes that the record names.
    nonisolated var nodes: [String] { published.withLock { $0.record?.nodes.map(\.id) ?? [] } }

    nonisolated var snapshot: Fleet.LimitSnapshot {
        let now = time.now
        let (id, end) = (member.id, member.end)
        return published.withLock { published in
            Fleet.LimitSnapshot(
                name: name, key: key, record: published.record, node: id, isValid: now < end,
                movedInLastMinute: published.moves.count(at: now), problem: published.problem?.message)
        }
    }
}

extension SharedLimit {
    /// Does what is to be done now. Returns `false` when the work is over.
    private func work() async -> Bool {
        var failures = 0
        while true {
            acceptReport()
            // A node that was removed begins again under another name.
            if node.id != member.id { node.rename(to: member.id) }
            let ending = published.withLock { $0.ending }
            guard let record = next(ending) else {
                guard let ending else { return true }
                return node.owned > 0 && time.now < min(ending, member.end)
            }
            let revision = node.revision
            do throws(FleetStoreError) {
                let outcome = try await store.write(record.encoded(), to: key, replacing: revision)
                // Reentrancy: the watch only leaves its report.
                try accept(outcome)
                failures = 0
            } catch {
                node.wrote(nil, nil, at: time.now)
                member.note(error)
                failures += 1
                if error.kind == .cancelled || ending != nil && failures > 2 { return false }
                // A store that fails at once is not asked again and again.
                await time.pause(.milliseconds(100) * (1 << min(failures, 5)))
            }
            publish()
            if conflicts > 1 { await time.pause(backoff) }
        }
    }

    /// After conflicts, nodes try again at different moments.
    private var backoff: Duration {
        let most = min(200, (node.record?.nodes.count ?? 1) * min(conflicts, 4))
        return .microseconds(Int64(time.random() % UInt64(max(1, most) * 1000)))
    }

    private func accept(_ outcome: FleetWrite) throws(FleetStoreError) {
        member.noteSuccess()
        var changed: LimitRecord?
        if case .changed(let other) = outcome {
            conflicts += 1
            changed = try other.map { other throws(FleetStoreError) in try LimitRecord(other.bytes, key: key) }
        } else {
            conflicts = 0
        }
        node.wrote(outcome, changed, at: time.now)
    }

    /// Decides what to do next, and passes the limiter its permits. Returns the record to write; `nil` for none.
    private func next(_ ending: Instant?) -> LimitRecord? {
        let now = time.now
        let end = member.end
        guard let limiter else {
            // All that was out is back one period after the last use.
            wakeUp.setAlarm(at: ending, time)
            guard let ending, ending <= now, now < end else { return nil }
            return node.leave(LimitNode.Need(unused: node.owned), at: now)
        }
        let demand = limiter.demand
        var gone: Set<String> = []
        var due: Instant? = ending
        for id in nodes {
            guard let instant = member.gone(id)?.advanced(by: settings.takeover) else { continue }
            if instant <= now { gone.insert(id) } else { due = min(due ?? instant, instant) }
        }
        var step: LimitNode.Step?
        limiter.changeSource { source in
            guard var permits = source as? OwnedPermits else { return }
            permits.end = end
            permits.owned = node.owned
            if now < end, step == nil {
                let need = LimitNode.Need(
                    out: permits.out(at: now), unused: permits.unused(at: now), waiting: demand.waiting,
                    cost: max(1, demand.next), nextReturn: permits.nextReturn(after: now),
                    pausedUntil: demand.pausedUntil)
                if ending != nil {
                    step = LimitNode.Step(write: node.leave(need, at: now), share: 0, due: need.nextReturn)
                } else {
                    step = node.step(need, gone: gone, at: now, random: time.random())
                }
            }
            permits.owned = node.owned
            permits.share = step?.share ?? 0
            source = permits
        }
        apply(step?.pause, to: limiter)
        refuseOrGrant(limiter, isValid: now < end)
        publish()
        wakeUp.setAlarm(at: [due, step?.due].compactMap { $0 }.min(), time)
        return step?.write
    }

    private func apply(_ pause: SharedPause.Change?, to limiter: RateLimiter) {
        switch pause {
        case .pause(let end): limiter.pause(until: end)
        case .resume: limiter.resume()
        case nil: break
        }
    }

    private func refuseOrGrant(_ limiter: RateLimiter, isValid: Bool) {
        let conflict = node.record.flatMap { $0.conflict(with: settings, name: name) }
        let outageMessage = isValid || outage == .wait ? nil : member.problem?.message
        published.withLock { $0.problem = conflict.map(FleetProblem.init) ?? member.problem }
        if let conflict {
            limiter.refuse(.badSetting(conflict))
        } else if let outageMessage {
            let message = "The fleet's store cannot be reached, so no permits of the limit \(name) are granted: "
            limiter.refuse(.rateLimited(RateLimited(message: message + outageMessage)))
        } else {
            limiter.refuse(nil)
        }
    }

    private func publish() {
        let now = time.now
        published.withLock { published in
            guard published.record != node.record else { return }
            let before = published.record?.owned(by: node.id) ?? 0
            published.moves.add(abs((node.record?.owned(by: node.id) ?? 0) - before), at: now)
            published.record = node.record
        }
    }
}

extension SharedLimit {
    /// Watches the record, and begins again when the watch breaks.
    private func watch() async {
        var failures = 0
        while !Task.isCancelled {
            do {
                for try await record in store.changes(of: key) {
                    failures = 0
                    try await receive(record)
                }
            } catch {
                member.note(error as? FleetStoreError ?? FleetStoreError(.other, String(reflecting: error)))
            }
            failures += 1
            guard !Task.isCancelled else { return }
            await time.pause(.milliseconds(100) * (1 << min(failures, 6)))
        }
    }

    private func receive(_ record: FleetRecord?) async throws(FleetStoreError) {
        member.noteSuccess()
        var record = record
        // A watch may report late that there was none. Only a read that begins now shows that there is none any more.
        if record == nil, node.revision != nil { record = try await store.read(key) }
        report = record.map(Report.record) ?? Report.none
        look()
    }

    private func acceptReport() {
        guard let report else { return }
        self.report = nil
        let now = time.now
        switch report {
        case .none: node.seeNone(at: now)
        case .record(let record):
            do throws(FleetStoreError) {
                try node.see(LimitRecord(record.bytes, key: key), record.revision, at: now)
            } catch {
                member.note(error)
            }
        }
    }
}
