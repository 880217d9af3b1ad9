import Errand
@testable import ErrandFleet
import Foundation

/// What happens in a walk.
extension LimitWalk {
    mutating func handle(_ event: Event) async throws {
        switch event {
        case .arrival(let machine): arrive(on: machine)
        case .begin(let machine): begin(on: machine)
        case .trouble: try await makeTrouble()
        case .alarm(let index):
            // Another one may have taken its place.
            guard processes[index].alarm <= now else { return }
            processes[index].alarm = .max
            work(index)
        case .look(let index): try await look(index)
        case .saw(let index, let record, let found): saw(index, record, found)
        case .wrote(let index, let outcome, let changed, let found):
            guard processes[index].isPresent else { return }
            keep(index, found)
            processes[index].wrote(outcome, changed, at: clock(index))
            work(index)
        case .send(let index, let cost, let taken): send(index, cost, taken)
        case .refused(let index, let seconds):
            guard processes[index].isRunning else { return }
            let instant = clock(index)
            checker.heardPause(index, for: seconds, at: now)
            processes[index].pause(until: instant.advanced(by: .seconds(seconds)), at: instant)
            work(index)
        case .renew(let index): renew(index)
        case .renewed(let index, let outcome, let renewal):
            guard processes[index].isPresent else { return }
            let wait = processes[index].accept(outcome, of: renewal)
            schedule(.renew(index), in: wait.inSeconds / machines[processes[index].machine].rate)
            work(index)
        case .inspect(let index): try await inspect(index)
        case .inspected(let index, let id, let revision):
            guard processes[index].isPresent else { return }
            if let old = processes[index].inspected(id, revision, at: clock(index)) {
                schedule(.commitRemoval(index, id, old), in: delay())
            }
            try await look(at: processes[index].inspects(after: id, at: clock(index)), by: index)
            work(index)
        case .removed(let index, let id):
            guard processes[index].isPresent else { return }
            processes[index].removedOther(id)
            work(index)
        case .commitLimit(let index, let record, let replacing, let isLate):
            try await commitLimit(index, record, replacing, isLate)
        case .commitLife(let index, let renewal, let isLate): try await commitLife(index, renewal, isLate)
        case .commitRemoval(let index, let id, let old):
            guard !isUnreachable(index) else { return }
            let outcome = try await store.write(nil, to: WalkStore.key(of: id), replacing: old)
            if outcome == .written(nil), !chance(settings.trouble * 0.1) { schedule(.removed(index, id), in: delay()) }
        }
    }

    private func clock(_ index: Int) -> Instant { clock(of: processes[index].machine) }

    private func isUnreachable(_ index: Int) -> Bool { isStoreDown || machines[processes[index].machine].isCutOff }

    // MARK: Calls

    private mutating func arrive(on machine: Int) {
        let cost = settings.costs.randomElement(using: &random) ?? 1
        let mean = Double(settings.costs.reduce(0, +)) / Double(settings.costs.count)
        let rate = machines[machine].load * Double(settings.permits) / settings.period.inSeconds / mean
        let number = Double.random(in: 0...2, using: &random)
        let pause = settings.isPoisson ? -log(max(1e-9, number / 2)) : number
        schedule(.arrival(machine: machine), in: rate > 0 ? min(settings.isPoisson ? 60 : 2, pause / rate) : 0.2)
        let index = machines[machine].process
        guard rate > 0, processes[index].isRunning, processes[index].waiting < min(400, settings.permits) * 4 else {
            return
        }
        acquire(index, cost)
    }

    /// Takes permits for a call. If it has to wait for them, the node does something about it.
    private mutating func acquire(_ index: Int, _ cost: Int, isUrgent: Bool = false) {
        let instant = clock(index)
        if processes[index].acquire(cost, isUrgent: isUrgent, at: instant) {
            prepare(index, cost, instant)
        } else {
            work(index)
        }
    }

    /// A request with a permit may need some time until it leaves.
    private mutating func prepare(_ index: Int, _ cost: Int, _ taken: Instant) {
        let wait = chance(settings.trouble * 0.02) ? Double.random(in: 0...2, using: &random) : 0
        schedule(.send(index, cost: cost, taken: taken), in: wait)
    }

    private mutating func send(_ index: Int, _ cost: Int, _ taken: Instant) {
        guard processes[index].phase != .dead else { return }
        if processes[index].use(cost, takenAt: taken, at: clock(index)) {
            checker.sent(cost, by: index, at: now)
            machines[processes[index].machine].served += cost
            if !processes[index].isRunning { note(.sentAfterEnd) }
            if chance(settings.refusals) {
                note(.refused)
                schedule(.refused(index, seconds: Double.random(in: 0.2...6, using: &random)), in: delay())
            }
        } else {
            note(.permitLost)
            acquire(index, cost, isUrgent: true)
        }
    }

    // MARK: The limit's record

    /// Does what is to be done now, and sets the alarm for what comes next.
    mutating func work(_ index: Int) {
        guard processes[index].isPresent else { return }
        let instant = clock(index)
        serve(index, instant)
        var dues: [Instant?] = []
        if !processes[index].isWriting {
            if let bytes = processes[index].unread.take() { checker.saw(bytes, by: index, at: now) }
            let (known, revision) = (processes[index].limit.record?.pause?.id, processes[index].limit.revision)
            let (write, due) = processes[index].next(at: instant, random: random.next())
            if let due, due < instant { checker.note("process \(index) would look again and again") }
            dues.append(due.map { max($0, instant) })
            if let write {
                processes[index].isWriting = true
                if let id = write.pause?.id, id != known { checker.announces(id, by: index, at: now) }
                schedule(.commitLimit(index, write, revision, isLate: false), in: delay())
            }
            serve(index, instant)
            if processes[index].phase == .left, let revision = processes[index].life.revision {
                note(.left)
                schedule(.commitRemoval(index, processes[index].id, revision), in: delay())
            }
        }
        dues.append(processes[index].nextService(at: instant).flatMap { $0 > instant ? $0 : nil })
        if case .leaving(let end) = processes[index].phase, end > instant { dues.append(end) }
        guard let due = dues.compactMap({ $0 }).min() else { return }
        let alarm = trueTime(due, on: processes[index].machine)
        guard alarm < processes[index].alarm else { return }
        processes[index].alarm = alarm
        schedule(.alarm(index), at: alarm)
    }

    private mutating func serve(_ index: Int, _ instant: Instant) {
        for cost in processes[index].serve(at: instant) { prepare(index, cost, instant) }
    }

    /// Reads the record, as a watch does at its beginning.
    private mutating func look(_ index: Int) async throws {
        guard processes[index].isPresent else { return }
        guard !isUnreachable(index) else { return schedule(.look(index), in: 0.5) }
        let found = try await store.read(WalkStore.limitKey)
        let record = try found.map { try LimitRecord($0.bytes, key: WalkStore.limitKey) }
        schedule(.saw(index, record, found), in: delay())
    }

    private mutating func saw(_ index: Int, _ record: LimitRecord?, _ found: FleetRecord?) {
        guard processes[index].isPresent else { return }
        keep(index, found)
        processes[index].see(record, found?.revision, at: clock(index))
        work(index)
    }

    private mutating func keep(_ index: Int, _ found: FleetRecord?) {
        guard let found, found.revision > processes[index].limit.revision ?? FleetRevision(0) else { return }
        processes[index].unread = found.bytes
    }

    private mutating func commitLimit(
        _ index: Int, _ new: LimitRecord, _ replacing: FleetRevision?, _ isLate: Bool
    ) async throws {
        var event = Event.wrote(index, nil, nil, nil)
        let isLost = chance(settings.trouble * 0.1)
        if !isUnreachable(index) {
            let bytes = try new.encoded()
            let outcome = try await store.write(bytes, to: WalkStore.limitKey, replacing: replacing)
            switch outcome {
            case .written(let revision?):
                checker.wrote(bytes, revision)
                event = .wrote(index, outcome, nil, nil)
                try report(bytes, revision, isLateFor: isLost ? index : nil)
            case .changed(let found?):
                let record = try LimitRecord(found.bytes, key: WalkStore.limitKey)
                event = .wrote(index, outcome, record, found)
            case .changed(nil), .written(nil): event = .wrote(index, outcome, nil, nil)
            }
        }
        guard !isLate else { return }
        if isLost {
            note(.responseLost)
            event = .wrote(index, nil, nil, nil)
        }
        if chance(settings.trouble * 0.05) {
            note(.lateWrite)
            schedule(.commitLimit(index, new, replacing, isLate: true), in: delay() * 3)
        }
        guard case .wrote(_, nil, _, _) = event else { return schedule(event, in: delay()) }
        schedule(event, in: 0.5)
    }

    /// Reports a record to all watches. One may come late, and leave out what came between. What loses a response often
    /// delays the watch of the same node too.
    private mutating func report(_ bytes: [UInt8], _ revision: FleetRevision, isLateFor late: Int?) throws {
        let found = FleetRecord(bytes: bytes, revision: revision)
        let record = try LimitRecord(bytes, key: WalkStore.limitKey)
        limitRecord = record
        for other in processes.indices where processes[other].isPresent {
            guard !machines[processes[other].machine].isCutOff else { continue }
            let wait = other == late ? Double.random(in: 0...6, using: &random) : 0
            schedule(.saw(other, record, found), in: delay() + wait)
        }
    }

    // MARK: The nodes' records

    private mutating func renew(_ index: Int) {
        guard processes[index].isPresent else { return }
        let renewal = processes[index].renewal(at: clock(index))
        if chance(settings.trouble * 0.05) {
            // Its response never comes, and it may be made later.
            note(.lateRenewal)
            schedule(.commitLife(index, renewal, isLate: true), in: delay() * 3)
            schedule(.renewed(index, nil, renewal), in: 0.5)
        } else {
            schedule(.commitLife(index, renewal, isLate: false), in: delay())
        }
    }

    private mutating func commitLife(_ index: Int, _ renewal: WalkProcess.Renewal, _ isLate: Bool) async throws {
        var outcome: FleetWrite?
        if !isUnreachable(index) {
            outcome = try await store.write(
                renewal.bytes, to: WalkStore.key(of: renewal.id), replacing: renewal.replacing)
        }
        guard !isLate else { return }
        if chance(settings.trouble * 0.05) { outcome = nil }
        schedule(.renewed(index, outcome, renewal), in: outcome == nil ? 0.5 : delay())
    }

    private mutating func inspect(_ index: Int) async throws {
        guard processes[index].isPresent else { return }
        let machine = machines[processes[index].machine]
        schedule(.inspect(index), in: processes[index].life.inspection.inSeconds / machine.rate)
        try await look(at: processes[index].inspects(at: clock(index)), by: index)
        work(index)
    }

    private mutating func look(at ids: Set<String>, by index: Int) async throws {
        // In an order that the seed decides.
        for id in ids.sorted() where !isUnreachable(index) {
            let revision = try await store.read(WalkStore.key(of: id))?.revision
            schedule(.inspected(index, id, revision), in: delay())
        }
    }

    // MARK: Trouble

    private mutating func makeTrouble() async throws {
        guard !isCalm else { return }
        schedule(.trouble, in: Double.random(in: 0.5...4, using: &random) * settings.calmness)
        guard let machine = machines.indices.randomElement(using: &random) else { return }
        let index = machines[machine].process
        switch Int.random(in: 0..<11, using: &random) {
        case 0 where processes[index].isRunning:
            note(.killed)
            processes[index].die()
            schedule(.begin(machine: machine), in: Double.random(in: 0...3, using: &random))
        case 1 where processes[index].isRunning:
            // Another process takes the calls while this one still sends.
            note(.leaves)
            processes[index].leave(until: clock(index).advanced(by: .seconds(Double.random(in: 0...3, using: &random))))
            work(index)
            schedule(.begin(machine: machine), in: Double.random(in: 0...3, using: &random))
        case 2:
            note(.stopped)
            machines[machine].frozenUntil = now + Int64(Double.random(in: 0...20, using: &random) * 1e9)
        case 3:
            note(.storeDown)
            isStoreDown = true
        case 4, 5: isStoreDown = false
        case 6:
            // As if the store had revoked a living node.
            note(.revoked)
            let key = WalkStore.key(of: processes[index].id)
            if let record = try await store.read(key) {
                _ = try await store.write(nil, to: key, replacing: record.revision)
            }
        case 7 where settings.hasSkew: changeRate(of: machine)
        case 8 where settings.refusals > 0 && processes[index].isRunning && machines[machine].frozenUntil <= now:
            note(.pauseEnded)
            checker.endedPause(at: now)
            processes[index].resume(at: clock(index))
            work(index)
        default: machines[machine].load = [0, 0.2, 1, 3].randomElement(using: &random) ?? 1
        }
    }
}
