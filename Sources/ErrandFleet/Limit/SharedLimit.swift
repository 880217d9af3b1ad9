import Errand

/// A node's part in a limit that the fleet shares: reads and writes the record, and passes permits to the limiter.
///
/// ``LimitNode`` makes all decisions. One loop carries them out, so there is one write at a time; a watch beside it
/// brings the records of others. When the limiter is released, its permits come here: the loop returns those that are
/// not out, and the others when they are back. A limiter that is made before then goes on with them.
actor SharedLimit {
    /// What the watch has found last.
    private enum Report {
        case record(FleetRecord)
        case none
    }

    /// How long the store may take for its first answer before that is a problem.
    private static let longestSilence = Duration.seconds(1)

    nonisolated let name: String
    nonisolated let key: String
    private nonisolated let store: any FleetStore
    nonisolated let member: Member
    nonisolated let time: any TimeSource
    nonisolated let published: Lock<Published>
    private nonisolated let wakeUp = WakeUp()
    private var node: LimitNode
    private var runNumber = 0
    private var report: Report?
    private var reports = 0
    private var conflicts = 0
    /// Whether calls fail that would have to wait.
    private var isRefusing = false
    /// Since when the first answer of the store is waited for.
    private var silentSince: Instant?
    /// When the next permits come back, as far as is known.
    private var nextReturn: Instant?
    /// Whether writes that were refused may succeed by now, so that calls wait for the next one.
    private var mayWrite = false

    init(
        _ name: String, key: String, _ terms: LimitTerms, store: any FleetStore, member: Member, node: String,
        time: any TimeSource
    ) {
        (self.name, self.key) = (name, key)
        (self.store, self.member, self.time) = (store, member, time)
        published = Lock(Published(terms: terms))
        self.node = LimitNode(id: node, settings: terms.settings)
    }

    /// Returns the limiter for a use with those terms: the one that is used already, or a new one that goes on with the
    /// permits of the last.
    nonisolated func use(_ terms: LimitTerms, within: RateLimiter?, as node: String) -> Use {
        published.withLock { published in
            if let limiter = published.limiter?.limiter {
                return published.terms == terms ? .limiter(limiter) : .refused(because: limiter)
            }
            let rest = published.rest
            if published.number > 0, !terms.agrees(with: published.terms) { return .refused(because: nil) }
            var permits = rest?.permits ?? OwnedPermits(terms.settings, owner: node)
            permits.change(terms.settings)
            // The last limiter is being released at this moment, and what it has used is not known yet.
            if published.number > 0, rest == nil { permits.takeAll(at: time.now) }
            let number = published.number + 1
            let limiter = RateLimiter(
                terms.limit, of: permits, time: time, within: within, serverPauses: within == nil ? .own : .shared
            ) {
                self.look()
            } onRelease: { source, pausedUntil in
                self.released(number, source, pausedUntil)
            }
            (published.limiter, published.number, published.terms) = (WeakLimiter(limiter), number, terms)
            (published.rest, published.hasReturnedAll) = (nil, false)
            if let end = rest?.pausedUntil { limiter.pause(until: end) }
            look()
            return .limiter(limiter)
        }
    }

    /// Keeps what a limiter leaves. Another limiter may be there already.
    private nonisolated func released(_ number: Int, _ source: any PermitSource, _ pausedUntil: Instant?) {
        guard let permits = source as? OwnedPermits else { return }
        published.withLock { published in
            guard published.number == number else { return }
            published.rest = Rest(permits: permits, pausedUntil: pausedUntil)
        }
        look()
    }

    /// Works for the limiters until the last one is released and its permits are returned, or until the program leaves
    /// the fleet.
    func run(_ number: Int) async {
        runNumber = number
        silentSince = time.now
        await withDiscardingTaskGroup { group in
            group.addTask { await self.watch() }
            while await work() { await wakeUp.wait() }
            group.cancelAll()
        }
        wakeUp.cancelAlarm()
        for part in [StoreTroubles.Part.reads(key), .writes(key)] { member.noteSuccess(in: part) }
        let (hasReturnedAll, limiter) = (hasNothing, self.limiter)
        published.withLock { $0.hasReturnedAll = hasReturnedAll }
        guard leavingEnd != nil else { return }
        limiter?.refuse(.rateLimited(RateLimited(message: "This node has left its fleet, so it has no permits")))
    }

    /// Looks again: calls wait, or something has changed.
    nonisolated func look() { wakeUp.signal() }

    /// Ends all runs up to that one when all permits are back, at the latest after that wait.
    nonisolated func leave(run: Int, atMost wait: Duration) {
        let end = time.now.advanced(by: wait)
        published.withLock { $0.leaving = (run, end) }
        look()
    }
}

extension SharedLimit {
    private var limiter: RateLimiter? { published.withLock { $0.limiter }?.limiter }

    /// When this run ends because the program leaves the fleet; `nil` if it does not.
    private var leavingEnd: Instant? {
        published.withLock { [runNumber] in $0.leaving.flatMap { $0.run >= runNumber ? $0.end : nil } }
    }

    /// Does what is to be done now. Returns `false` when the work is over.
    private func work() async -> Bool {
        var failures = 0
        while true {
            acceptReport()
            guard let record = next() else { return !isOver }
            let revision = node.revision
            do throws(FleetStoreError) {
                let outcome = try await store.write(record.encoded(), to: key, replacing: revision)
                // Reentrancy: the watch only leaves its report.
                try accept(outcome)
                failures = 0
            } catch {
                node.wrote(nil, nil, at: time.now)
                if error.kind == .damaged { node.seeDamage() }
                member.note(error, in: .writes(key))
                mayWrite = false
                // Calls that wait need not wait for the pause as well.
                if let limiter { refuseOrGrant(limiter) }
                failures += 1
                if error.kind == .cancelled || leavingEnd != nil && failures > 2 { return false }
                // A store that fails at once is not asked again and again.
                await time.pause(.milliseconds(100) * (1 << min(failures, 5)))
            }
            publish()
            if conflicts > 1 { await time.pause(backoff) }
        }
    }

    /// Whether nothing remains to be done: all is returned, or what is not is left to the other nodes.
    private var isOver: Bool {
        let (leavingEnd, now) = (self.leavingEnd, time.now)
        guard leavingEnd != nil || !isUsed else { return false }
        // While the node lives, what a released limiter had out is the node's, and nobody else may release it.
        guard !hasNothing, let leavingEnd else { return hasNothing }
        let comesTooLate = !node.isWriting && !node.isOutdated && nextReturn.map { $0 > leavingEnd } ?? false
        return leavingEnd <= now || now >= member.standing.end || comesTooLate
    }

    /// Whether the record gives the node nothing, and the node may believe it.
    private var hasNothing: Bool { node.owned == 0 && !node.isWriting && !node.isOutdated }

    /// After conflicts, nodes try again at different moments.
    private var backoff: Duration {
        // Nodes that disturb each other need no more than a few attempts.
        let most = min(200, (node.record?.nodes.count ?? 1) * min(conflicts, 4)) << min(max(0, conflicts - 8), 2)
        return .microseconds(Int64(time.random() % UInt64(max(1, most) * 1000)))
    }

    private func accept(_ outcome: FleetWrite) throws(FleetStoreError) {
        var changed: LimitRecord?
        if case .changed(let other) = outcome {
            conflicts += 1
            changed = try other.map { other throws(FleetStoreError) in try LimitRecord(other.bytes, key: key) }
        } else {
            conflicts = 0
        }
        member.noteSuccess(in: .writes(key))
        member.noteContact()
        let (now, attempts) = (time.now, conflicts > 0 ? \LimitActivity.conflicts : \.writes)
        published.withLock { $0.activity[keyPath: attempts].add(1, at: now) }
        node.wrote(outcome, changed, at: now)
    }

    /// Decides what to do next, and passes the limiter its permits. Returns the record to write; `nil` for none.
    private func next() -> LimitRecord? {
        let now = time.now
        let (limiter, leavingEnd, terms) = (self.limiter, self.leavingEnd, published.withLock { $0.terms })
        let demand = limiter?.demand
        // Before the standing is read: a node that is about to rest ends it, and then looks at what its limits need.
        noteNeed(isWaiting: demand.map { $0.waiting > 0 } ?? false, at: now)
        let standing = member.standing
        // A node that was removed begins again under another name.
        if node.id != standing.id { node.rename(to: standing.id) }
        node.change(terms.settings)
        guard let limiter, let demand else { return returnRest(as: standing, at: now) }
        var gone: Set<String> = []
        var due = leavingEnd
        if let silentSince, !node.hasRead {
            let end = silentSince.advanced(by: Self.longestSilence)
            if end > now { due = min(due ?? end, end) }
        }
        for id in nodes.ids {
            guard let instant = member.gone(id)?.advanced(by: node.takeover) else { continue }
            if instant <= now { gone.insert(id) } else { due = min(due ?? instant, instant) }
        }
        var step: LimitNode.Step?
        limiter.changeSource { source in
            guard var permits = source as? OwnedPermits else { return }
            permits.belong(to: standing.id, until: standing.end)
            permits.owned = node.owned
            if now < standing.end, step == nil {
                var need = LimitNode.Need(permits, at: now)
                if leavingEnd != nil {
                    let pause = node.followPause(demand.pausedUntil, at: now)
                    step = LimitNode.Step(write: node.leave(need, at: now), share: 0, due: need.nextReturn)
                    step?.pause = pause
                    nextReturn = need.nextReturn
                } else {
                    (need.waiting, need.cost) = (demand.waiting, max(1, demand.next))
                    (need.pausedUntil, need.isRefused) = (demand.pausedUntil, demand.isRefused)
                    step = node.step(need, gone: gone, at: now, random: time.random())
                }
            }
            permits.owned = node.owned
            permits.share = step?.share ?? 0
            source = permits
        }
        noteStarving()
        apply(step?.pause, to: limiter)
        refuseOrGrant(limiter)
        publish()
        wakeUp.setAlarm(at: [due, step?.due].compactMap { $0 }.min(), time)
        return step?.write
    }

    /// Returns the record that gives up what a released limiter has left and is not out.
    private func returnRest(as standing: Member.Standing, at now: Instant) -> LimitRecord? {
        var due = leavingEnd
        // Under the lock, because another limiter may take over what is left at any moment.
        let write: LimitRecord? = published.withLock { published in
            // It is being released at this moment.
            guard var permits = published.rest?.permits else { return nil }
            permits.belong(to: standing.id, until: standing.end)
            permits.owned = node.owned
            let need = LimitNode.Need(permits, at: now)
            let write = now < standing.end ? node.leave(need, at: now) : nil
            nextReturn = need.nextReturn
            permits.owned = node.owned
            published.rest?.permits = permits
            due = [due, need.nextReturn, node.isOutdated && node.emptyUntil > now ? node.emptyUntil : nil]
                .compactMap { $0 }.min()
            return write
        }
        publish()
        wakeUp.setAlarm(at: due, time)
        return write
    }

    private func noteNeed(isWaiting: Bool, at now: Instant) {
        let standing = member.standing
        // Calls that are refused do not wait, but they wait to be accepted again.
        let needsNode = isWaiting || isRefusing || node.isWriting || node.record?.node(standing.id) != nil
        published.withLock { $0.needsNode = needsNode }
        if needsNode, now >= standing.end { member.live() }
    }

    private func noteStarving() {
        let isStarving = node.isStarving
        let isNew = published.withLock { published in
            defer { published.isStarving = isStarving }
            return isStarving && !published.isStarving
        }
        if isNew { member.noteStarving(name) }
    }

    private func apply(_ pause: SharedPause.Change?, to limiter: RateLimiter) {
        switch pause {
        case .pause(let end): limiter.pause(until: end)
        case .resume(let end): limiter.resume(from: end)
        case nil: break
        }
    }

    private func refuseOrGrant(_ limiter: RateLimiter) {
        let (terms, isValid) = (published.withLock { $0.terms }, time.now < member.standing.end)
        let conflict = node.record.flatMap { $0.conflict(with: terms.settings, name: name) }
        let troubles = member.troubles
        let wait = node.record.flatMap { $0.wait(with: terms.settings, name: name) }
        let problem =
            (conflict ?? wait).map { FleetProblem($0) }
            ?? (troubles.lasting(key) ?? troubles.ofNode).map { FleetProblem($0) } ?? silence
        published.withLock { $0.problem = problem }
        limiter.noteHindrance(problem.map { "the limit \(name) of the fleet: \($0.message)" })
        let isRefused = troubles.isLasting(.reads(key)) || troubles.isLasting(.writes(key)) && !mayWrite
        let fails = isRefused || !isValid && (terms.outage == .fail || problem?.isPermanent == true)
        isRefusing = conflict != nil || fails && problem != nil
        if let conflict {
            limiter.refuse(.badSetting(conflict))
        } else if fails, let problem {
            let message = "The fleet's store cannot be used, so no permits of the limit \(name) are granted: "
            limiter.refuse(.rateLimited(RateLimited(message: message + problem.message)))
        } else {
            limiter.refuse(nil)
        }
    }

    /// What is wrong while the store has not answered at all.
    private var silence: FleetProblem? {
        guard !node.hasRead, let silentSince else { return nil }
        let isLong = silentSince.duration(to: time.now) >= Self.longestSilence
        return isLong ? FleetProblem("the fleet's store has not answered since this node has begun") : nil
    }

    private func publish() {
        let now = time.now
        published.withLock { published in
            guard published.record != node.record else { return }
            let before = published.record?.owned(by: node.id) ?? 0
            published.activity.moves.add(abs((node.record?.owned(by: node.id) ?? 0) - before), at: now)
            published.record = node.record
        }
    }
}

extension SharedLimit {
    /// Watches the record, and begins again when the watch breaks.
    private func watch() async {
        var failures = 0
        while !Task.isCancelled {
            let before = reports
            do throws(FleetStoreError) {
                try await RecordWatch(of: key, in: store, time: time).run { record throws(FleetStoreError) in
                    try await self.receive(record)
                }
            } catch {
                if error.kind == .damaged { node.seeDamage() }
                member.note(error, in: .reads(key))
                look()
            }
            failures = reports == before ? failures + 1 : 1
            guard !Task.isCancelled else { return }
            // The watches of many nodes often end together.
            let part = 0.75 + Double(time.random() % 1000) / 2000
            await time.pause(.milliseconds(100) * (1 << min(failures, 6)) * part)
        }
    }

    private func receive(_ record: FleetRecord?) async throws(FleetStoreError) {
        var record = record
        // A watch may report late that there was none. Only a read that begins now shows that there is none any more.
        if record == nil, node.revision != nil { record = try await store.read(key) }
        report = record.map(Report.record) ?? Report.none
        reports += 1
        look()
    }

    private func acceptReport() {
        guard let report else { return }
        self.report = nil
        let now = time.now
        published.withLock { $0.activity.lastReport = now }
        member.noteContact()
        do throws(FleetStoreError) {
            switch report {
            case .none: node.seeNone(at: now)
            case .record(let record): try node.see(LimitRecord(record.bytes, key: key), record.revision, at: now)
            }
            member.noteSuccess(in: .reads(key))
            // The write before is over, too. If it was refused, the next one may succeed, and calls that fail at once
            // would not lead to one.
            mayWrite = true
            if !member.troubles.isLasting(.writes(key)) { member.noteSuccess(in: .writes(key)) }
        } catch {
            if error.kind == .damaged { node.seeDamage() }
            member.note(error, in: .reads(key))
        }
    }
}
