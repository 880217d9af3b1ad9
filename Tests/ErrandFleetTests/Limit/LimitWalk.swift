import Errand
@testable import ErrandFleet

/// A walk of many nodes through one shared limit: simulated nodes, clocks and store, and the real state machines.
///
/// Every permit is stamped with the true time of its use. What checks the stamps (`Stamps`) knows nothing of the code.
struct LimitWalk {
    struct Settings {
        var nodes = 5
        var permits = 20
        var period = Duration.seconds(1)
        var lifetime = Duration.seconds(6)
        /// How often something goes wrong; 0 for never.
        var trouble = 0.0
        /// Whether the clocks of the nodes differ in their rates.
        var hasSkew = false
        /// The lifetimes of the nodes in turn; all have the same if this is empty.
        var lifetimes: [Duration] = []
        /// The weights of the nodes in turn; all have the same if this is empty.
        var weights: [Int] = []
    }

    fileprivate enum Event {
        case arrival(Int)
        case pump(Int)
        case limit(Int, LimitRecord, FleetRevision, generation: Int)
        case wrote(Int, FleetWrite?, LimitRecord?, generation: Int)
        case send(Int, taken: Instant, generation: Int)
        case renew(Int, generation: Int)
        case renewed(Int, FleetRevision??, sent: Instant, generation: Int)
        case inspect(Int, generation: Int)
        case inspected(Int, String, FleetRevision?, generation: Int)
        case removed(Int, String, Bool?, generation: Int)
        case commitLimit(Int, LimitRecord, FleetRevision?, generation: Int, isRepeated: Bool)
        case commitLife(Int, id: String, FleetRevision?, sent: Instant, generation: Int)
        case commitRemoval(Int, String, FleetRevision, generation: Int)
        case trouble
    }

    private struct Node {
        var id: String
        var life: NodeLife
        var limit: LimitNode
        var permits: OwnedPermits
        var waiting = 0
        var rate = 1.0
        var offset: Int64 = 0
        /// Until when the process does not run, in true time.
        var frozenUntil: Int64 = 0
        /// Counts restarts: what comes for a process before does not reach the next one.
        var generation = 0
        var isWriting = false
        /// Whether it cannot reach the store.
        var isCutOff = false
        var due: Int64 = .max
        var load = 1.0
        var served = 0
    }

    private let settings: Settings
    private var random: SeededGenerator
    private var now: Int64 = 0
    private var heap = EventHeap<Event>()
    private var nodes: [Node] = []
    private var revision: UInt64 = 1
    private var record: (LimitRecord, FleetRevision)?
    private var lives: [String: FleetRevision] = [:]
    private(set) var stamps: [Int64] = []
    private(set) var steps = 0
    private(set) var writes = 0
    /// All requests to the store.
    private(set) var requests = 0
    private(set) var faults: [String] = []
    private var names = 0
    private var isCalm = false
    private var isStoreDown = false

    init(_ settings: Settings, seed: UInt64) {
        self.settings = settings
        random = SeededGenerator(seed: seed)
        for index in 0..<settings.nodes {
            nodes.append(start(index))
            if settings.hasSkew {
                nodes[index].rate = Double.random(in: 0.995...1.005, using: &random)
                nodes[index].offset = Int64.random(in: 0...10_000_000_000, using: &random)
            }
            nodes[index].load = [0, 0.2, 1, 3].randomElement(using: &random) ?? 1
            schedule(.renew(index, generation: 0), in: 0.001)
            schedule(.inspect(index, generation: 0), in: 1)
            schedule(.arrival(index), in: 0.01)
        }
        if settings.trouble > 0 { schedule(.trouble, in: 1) }
    }

    /// What each node has sent, since the beginning or the last call.
    mutating func takeServed() -> [Int] {
        defer { for index in nodes.indices { nodes[index].served = 0 } }
        return nodes.map(\.served)
    }

    /// Changes how many calls begin on a node, as a part of the limit. With none, nothing waits there any more.
    mutating func setLoad(_ load: Double, of index: Int) {
        nodes[index].load = load
        if load == 0 { nodes[index].waiting = 0 }
    }

    /// Ends a process for good.
    mutating func kill(_ index: Int) {
        restart(index)
        nodes[index].frozenUntil = .max
    }

    /// Ends all trouble.
    mutating func calm() {
        (isCalm, isStoreDown) = (true, false)
    }

    /// Keeps a node from the store for good.
    mutating func cutOff(_ index: Int) { nodes[index].isCutOff = true }

    private func isUnreachable(_ index: Int) -> Bool { isStoreDown || nodes[index].isCutOff }

    mutating func freeze(_ index: Int, for seconds: Double) {
        nodes[index].frozenUntil = now + Int64(seconds * 1e9)
    }
    func index(of id: String) -> Int? { nodes.firstIndex { $0.id == id } }
    var owned: [Int] { nodes.map(\.permits.owned) }
    var waiting: [Int] { nodes.map(\.waiting) }
    var limitRecord: LimitRecord? { record?.0 }
    var seconds: Double { Double(now) / 1e9 }

    private mutating func start(_ index: Int) -> Node {
        names += 1
        let id = "node-\(names)"
        let (lifetimes, weights) = (settings.lifetimes, settings.weights)
        let lifetime = lifetimes.isEmpty ? settings.lifetime : lifetimes[index % lifetimes.count]
        let terms = SharedLimitSettings(
            RateLimit.Window(permits: settings.permits, period: settings.period, isSmooth: false),
            weight: weights.isEmpty ? 1 : weights[index % weights.count], lifetime: lifetime)
        return Node(
            id: id, life: NodeLife(lifetime: lifetime), limit: LimitNode(id: id, settings: terms),
            permits: OwnedPermits(terms, owner: id))
    }

    // MARK: Running

    mutating func run(seconds: Double) {
        let end = now + Int64(seconds * 1e9)
        while let (at, event) = heap.peek, at <= end {
            heap.removeFirst()
            now = max(now, at)
            handle(event)
            steps += 1
        }
        now = end
    }

    private mutating func schedule(_ event: Event, in seconds: Double) {
        heap.push(event, at: now + Int64(seconds * 1e9))
    }

    private func clock(_ index: Int) -> Instant {
        Instant(nanoseconds: nodes[index].offset + Int64(Double(now) * nodes[index].rate))
    }

    private mutating func delay() -> Double {
        let usual = Double.random(in: 0.0005...0.004, using: &random)
        guard chance(settings.trouble * 0.05) else { return usual }
        return Double.random(in: 0.01...3, using: &random)
    }

    private mutating func chance(_ probability: Double) -> Bool {
        !isCalm && probability > 0 && Double.random(in: 0..<1, using: &random) < probability
    }

    private mutating func handle(_ event: Event) {
        // A process that is stopped does what is due when it runs again.
        if let index = event.process, nodes[index].frozenUntil > now {
            if nodes[index].frozenUntil < .max { heap.push(event, at: nodes[index].frozenUntil) }
            return
        }
        switch event {
        case .arrival(let index):
            let rate = nodes[index].load * Double(settings.permits) / settings.period.inSeconds
            schedule(.arrival(index), in: rate > 0 ? min(2, Double.random(in: 0...2, using: &random) / rate) : 0.2)
            guard rate > 0, nodes[index].waiting < settings.permits * 4 else { return }
            nodes[index].waiting += 1
            pump(index)
        case .pump(let index):
            nodes[index].due = .max
            pump(index)
        case .limit(let index, let seen, let revision, let generation):
            guard nodes[index].generation == generation else { return }
            nodes[index].limit.see(seen, revision, at: clock(index))
            pump(index)
        case .wrote(let index, let outcome, let changed, let generation):
            guard nodes[index].generation == generation else { return }
            nodes[index].isWriting = false
            nodes[index].limit.wrote(outcome, changed, at: clock(index))
            pump(index)
        case .send(let index, let taken, let generation):
            guard nodes[index].generation == generation else { return }
            if nodes[index].permits.renew(1, takenAt: taken, at: clock(index)) {
                stamps.append(now)
                nodes[index].served += 1
            } else {
                nodes[index].waiting += 1
            }
            pump(index)
        case .renew(let index, let generation):
            guard nodes[index].generation == generation else { return }
            let node = nodes[index]
            schedule(
                .commitLife(index, id: node.id, node.life.revision, sent: clock(index), generation: generation),
                in: delay())
            schedule(.renew(index, generation: generation), in: node.life.renewal.inSeconds)
        case .renewed(let index, let outcome, let sent, let generation):
            guard nodes[index].generation == generation, let outcome else { return }
            guard let revision = outcome else { return restart(index, keepsWaiters: true) }
            nodes[index].life.renewed(revision, sentAt: sent)
            if case .none = record, !nodes[index].limit.hasRead { nodes[index].limit.seeNone(at: clock(index)) }
            if let record, !nodes[index].limit.hasRead {
                nodes[index].limit.see(record.0, record.1, at: clock(index))
            }
            pump(index)
        case .inspect(let index, let generation):
            guard nodes[index].generation == generation else { return }
            inspect(index)
            schedule(.inspect(index, generation: generation), in: nodes[index].life.inspection.inSeconds)
        case .inspected(let index, let id, let revision, let generation):
            guard nodes[index].generation == generation else { return }
            if case .remove(let old) = nodes[index].life.inspected(id, revision, at: clock(index)) {
                schedule(.commitRemoval(index, id, old, generation: generation), in: delay())
            }
            pump(index)
        case .removed(let index, let id, let isRemoved, let generation):
            guard nodes[index].generation == generation, isRemoved == true else { return }
            nodes[index].life.removedOther(id)
            pump(index)
        case .commitLimit(let index, let new, let replacing, let generation, let isRepeated):
            commit(new, replacing, by: index, generation, isRepeated)
        case .commitLife(let index, let id, let replacing, let sent, let generation):
            requests += 1
            if isUnreachable(index) { return }
            var outcome: FleetRevision?? = .some(nil)
            if lives[id] == replacing {
                revision += 1
                lives[id] = FleetRevision(revision)
                outcome = .some(lives[id])
            }
            if chance(settings.trouble * 0.05) {
                // The response is lost; the process reads its own record, and finds its own write or a removal.
                outcome = .some(lives[id])
            }
            schedule(.renewed(index, outcome, sent: sent, generation: generation), in: delay())
        case .commitRemoval(let index, let id, let old, let generation):
            requests += 1
            if isUnreachable(index) { return }
            let isRemoved = lives[id] == old
            if isRemoved { lives[id] = nil }
            let outcome: Bool? = chance(settings.trouble * 0.1) ? nil : isRemoved
            schedule(.removed(index, id, outcome, generation: generation), in: delay())
        case .trouble:
            makeTrouble()
        }
    }

    private mutating func inspect(_ index: Int) {
        guard let shared = nodes[index].limit.record, !isUnreachable(index) else { return }
        nodes[index].life.keep(Set(shared.nodes.map(\.id)), longest: .nanoseconds(shared.lifetime))
        let node = nodes[index]
        for id in node.life.inspects(shared.nodes.map(\.id), as: node.id, at: clock(index)) {
            requests += 1
            schedule(.inspected(index, id, lives[id], generation: node.generation), in: delay())
        }
    }

    private mutating func commit(
        _ new: LimitRecord, _ replacing: FleetRevision?, by index: Int, _ generation: Int, _ isRepeated: Bool
    ) {
        var outcome: (FleetWrite?, LimitRecord?) = (nil, nil)
        requests += 1
        let isLost = chance(settings.trouble * 0.1)
        if !isUnreachable(index) {
            if record?.1 == replacing {
                if !new.isSound { faults.append("\(new) is not sound") }
                revision += 1
                writes += 1
                record = (new, FleetRevision(revision))
                outcome = (.written(FleetRevision(revision)), nil)
                for other in nodes.indices where !nodes[other].isCutOff {
                    // A watch may come late, and leave out what came between. What loses a response often delays the
                    // watch of the same node too.
                    let isLate = other == index && isLost
                    schedule(
                        .limit(other, new, FleetRevision(revision), generation: nodes[other].generation),
                        in: delay() + (isLate ? Double.random(in: 0...6, using: &random) : 0))
                }
            } else {
                outcome = (.changed(record.map { FleetRecord(bytes: [], revision: $0.1) }), record?.0)
            }
        }
        guard !isRepeated else { return }
        if isLost { outcome = (nil, nil) }
        if chance(settings.trouble * 0.05) {
            schedule(.commitLimit(index, new, replacing, generation: generation, isRepeated: true), in: delay() * 3)
        }
        let wait = outcome.0 == nil ? 0.5 : delay()
        schedule(.wrote(index, outcome.0, outcome.1, generation: generation), in: wait)
    }

    private mutating func pump(_ index: Int) {
        let at = clock(index)
        nodes[index].permits.belong(to: nodes[index].id, until: nodes[index].life.end)
        nodes[index].permits.owned = nodes[index].limit.owned
        serve(index, at: at)
        guard !nodes[index].isWriting, at < nodes[index].life.end else { return }
        let node = nodes[index]
        let need = LimitNode.Need(
            out: node.permits.out(at: at), unused: node.permits.unused(at: at), waiting: node.waiting, cost: 1,
            nextReturn: node.permits.nextReturn(after: at))
        let gone = (node.limit.record?.nodes ?? []).map(\.id).filter { id in
            node.life.gone(id).map { $0.advanced(by: node.limit.takeover) <= at } ?? false
        }
        let step = nodes[index].limit.step(need, gone: Set(gone), at: at)
        nodes[index].permits.owned = nodes[index].limit.owned
        nodes[index].permits.share = step.share
        if let write = step.write {
            nodes[index].isWriting = true
            let commit = Event.commitLimit(
                index, write, node.limit.revision, generation: node.generation, isRepeated: false)
            schedule(commit, in: delay())
        }
        serve(index, at: at)
        let dues = [step.due, nodes[index].permits.earliest(taking: 1, at: at)].compactMap { $0 }.filter { $0 > at }
        guard let due = dues.min() else { return }
        let trueDue = now + Int64(Double(at.duration(to: due).wholeNanoseconds) / node.rate) + 1000
        guard trueDue < nodes[index].due else { return }
        nodes[index].due = trueDue
        heap.push(.pump(index), at: trueDue)
    }

    private mutating func serve(_ index: Int, at instant: Instant) {
        while nodes[index].waiting > 0, nodes[index].permits.take(1, at: instant) {
            nodes[index].waiting -= 1
            let wait = chance(settings.trouble * 0.02) ? Double.random(in: 0...2, using: &random) : 0
            schedule(.send(index, taken: instant, generation: nodes[index].generation), in: wait)
        }
    }

    /// Begins a new process, or a new life of one whose record was removed.
    private mutating func restart(_ index: Int, keepsWaiters: Bool = false) {
        let old = nodes[index]
        nodes[index] = start(index)
        nodes[index].generation = old.generation + 1
        (nodes[index].rate, nodes[index].offset, nodes[index].load) = (old.rate, old.offset, old.load)
        nodes[index].waiting = keepsWaiters ? old.waiting : 0
        nodes[index].served = old.served
        schedule(.renew(index, generation: old.generation + 1), in: 0.01)
        schedule(.inspect(index, generation: old.generation + 1), in: 0.5)
    }

    private mutating func makeTrouble() {
        guard !isCalm else { return }
        schedule(.trouble, in: Double.random(in: 0.5...4, using: &random))
        guard let index = nodes.indices.randomElement(using: &random) else { return }
        switch Int.random(in: 0..<8, using: &random) {
        case 0: restart(index)
        case 1: nodes[index].frozenUntil = now + Int64(Double.random(in: 0...20, using: &random) * 1e9)
        case 2: isStoreDown = true
        case 3, 4: isStoreDown = false
        case 5: lives[nodes[index].id] = nil  // as if the store had revoked a living node
        default: nodes[index].load = [0, 0.2, 1, 3].randomElement(using: &random) ?? 1
        }
    }
}

extension LimitWalk.Event {
    /// The process that an event happens in; `nil` for one that happens in the store.
    fileprivate var process: Int? {
        switch self {
        case .arrival(let index), .pump(let index), .limit(let index, _, _, _), .wrote(let index, _, _, _),
            .send(let index, _, _), .renew(let index, _), .renewed(let index, _, _, _), .inspect(let index, _),
            .inspected(let index, _, _, _), .removed(let index, _, _, _):
            index
        case .commitLimit, .commitLife, .commitRemoval, .trouble: nil
        }
    }
}
