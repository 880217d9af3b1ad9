import Errand
@testable import ErrandFleet

/// A walk of many nodes through one shared limit: simulated machines, clocks and networks, any store, and the real
/// values that a node consists of.
///
/// Time is virtual, with every store: a request to the store takes as long as the walk says, and its response is lost
/// when the walk says so. So one seed is the same walk over each store that keeps its promises. What checks it
/// (`WalkChecker`) knows nothing of the code.
struct LimitWalk {
    struct Settings {
        var nodes = 5
        var permits = 20
        var period = Duration.seconds(1)
        var lifetime = Duration.seconds(6)
        /// How often something goes wrong; 0 for never.
        var trouble = 0.0
        /// How much longer than usual it takes until the next process or machine is in trouble.
        var calmness = 1.0
        /// Whether the clocks of the machines differ in their rates, by less than 1 %, and in what they show.
        var hasSkew = false
        /// The lifetimes of the nodes in turn; all have the same if this is empty.
        var lifetimes: [Duration] = []
        /// The weights of the nodes in turn; all have the same if this is empty.
        var weights: [Int] = []
        /// The costs of the calls, from which each has one at random.
        var costs = [1]
        /// How often the server refuses a request and asks for a pause.
        var refusals = 0.0
        var lowering: LimitLowering?
        /// Whether calls come independently of each other, and not about evenly.
        var isPoisson = false
    }

    /// What goes wrong, or happens to a process.
    enum Trouble: String, CaseIterable {
        case killed, leaves, left, stopped, refused
        case storeDown, revoked, responseLost, lateWrite, lateRenewal, permitLost, sentAfterEnd, pauseEnded
    }

    /// Indirect, because the heap moves each event several times, and a record is large.
    indirect enum Event {
        case arrival(machine: Int)
        case begin(machine: Int)
        case trouble
        // In a process.
        case alarm(Int)
        case look(Int)
        case saw(Int, LimitRecord?, FleetRecord?)
        case wrote(Int, FleetWrite?, LimitRecord?, FleetRecord?)
        case send(Int, cost: Int, taken: Instant)
        case refused(Int, seconds: Double)
        case renew(Int)
        case renewed(Int, FleetWrite?, WalkProcess.Renewal)
        case inspect(Int)
        case inspected(Int, String, FleetRevision?)
        case removed(Int, String)
        // In the store. Nobody waits for the response to a late write any more.
        case commitLimit(Int, LimitRecord, FleetRevision?, isLate: Bool)
        case commitLife(Int, WalkProcess.Renewal, isLate: Bool)
        case commitRemoval(Int, String, FleetRevision)
    }

    struct Machine {
        /// The process that takes its calls.
        var process = 0
        var rate = 1.0
        var offset: Int64 = 0
        /// Until when nothing runs on it, in true time. Its clock goes on.
        var frozenUntil: Int64 = 0
        /// Whether it cannot reach the store.
        var isCutOff = false
        var load = 1.0
        var served = 0
    }

    let settings: Settings
    var random: SeededGenerator
    private(set) var now: Int64 = 0
    private var heap = EventHeap<Event>()
    var machines: [Machine]
    var processes: [WalkProcess] = []
    var store: WalkStore
    var checker: WalkChecker
    private(set) var steps = 0
    /// How long all calls together have waited, in seconds.
    private(set) var waited = 0.0
    private(set) var isCalm = false
    var isStoreDown = false
    /// The record of the limit in the store.
    var limitRecord: LimitRecord?
    /// How often each kind of trouble was met.
    private(set) var met: [String: Int] = [:]

    init(_ settings: Settings, over store: any FleetStore, seed: UInt64) {
        self.settings = settings
        self.store = WalkStore(store)
        random = SeededGenerator(seed: seed)
        checker = WalkChecker(permits: settings.permits)
        machines = Array(repeating: Machine(), count: settings.nodes)
        for index in machines.indices {
            if settings.hasSkew {
                machines[index].offset = Int64.random(in: 0...10_000_000_000_000, using: &random)
                changeRate(of: index)
            }
            machines[index].load = [0, 0.2, 1, 3].randomElement(using: &random) ?? 1
            begin(on: index)
            schedule(.arrival(machine: index), in: 0.01)
        }
        if settings.trouble > 0 { schedule(.trouble, in: 1) }
    }

    // MARK: What a test changes and reads

    /// What each machine has sent, in permits, since the beginning or the last call.
    mutating func takeServed() -> [Int] {
        defer { for index in machines.indices { machines[index].served = 0 } }
        return machines.map(\.served)
    }

    /// Changes how many calls begin on a machine, as a part of the limit. With none, nothing waits there any more.
    mutating func setLoad(_ load: Double, of index: Int) {
        machines[index].load = load
        if load == 0 { processes[machines[index].process].forgetWaiters() }
    }

    /// Ends the process of a machine for good.
    mutating func kill(_ index: Int) { processes[machines[index].process].die() }

    /// Ends all trouble.
    mutating func calm() { (isCalm, isStoreDown) = (true, false) }

    /// Keeps a machine from the store for good.
    mutating func cutOff(_ index: Int) { machines[index].isCutOff = true }

    /// Returns the machine of a node.
    func index(of id: String) -> Int? { processes.first { $0.id == id }?.machine }
    var stamps: [Int64] { checker.stamps }
    var faults: [String] { checker.faults }

    // MARK: Time

    mutating func run(seconds: Double) async throws {
        let end = now + Int64(seconds * 1e9)
        while let (at, event) = heap.peek, at <= end {
            heap.removeFirst()
            if settings.isPoisson {
                let waiting = machines.reduce(0) { $0 + processes[$1.process].waiting }
                waited += Double(waiting) * Double(max(0, at - now)) / 1e9
            }
            now = max(now, at)
            steps += 1
            // Other tests run beside this one.
            if steps % 1000 == 0 { await Task.yield() }
            if let machine = machine(of: event), machines[machine].frozenUntil > now {
                // A process that is stopped does what is due when it runs again.
                heap.push(event, at: machines[machine].frozenUntil)
            } else {
                try await handle(event)
            }
        }
        now = end
    }

    mutating func schedule(_ event: Event, in seconds: Double) { heap.push(event, at: now + Int64(seconds * 1e9)) }
    mutating func schedule(_ event: Event, at instant: Int64) { heap.push(event, at: instant) }

    func clock(of machine: Int) -> Instant {
        let machine = machines[machine]
        return Instant(nanoseconds: machine.offset + Int64(Double(now) * machine.rate))
    }

    /// Returns the true time of an instant that is to come.
    func trueTime(_ instant: Instant, on machine: Int) -> Int64 {
        now + Int64(Double(clock(of: machine).duration(to: instant).wholeNanoseconds) / machines[machine].rate) + 1000
    }

    /// Gives a clock another rate. It goes on from what it shows.
    mutating func changeRate(of machine: Int) {
        let shown = clock(of: machine).nanoseconds
        machines[machine].rate = Double.random(in: 0.9951...1.0049, using: &random)
        machines[machine].offset += shown - clock(of: machine).nanoseconds
    }

    mutating func delay() -> Double {
        let usual = Double.random(in: 0.0005...0.004, using: &random)
        return chance(settings.trouble * 0.05) ? Double.random(in: 0.01...3, using: &random) : usual
    }

    mutating func chance(_ probability: Double) -> Bool {
        !isCalm && probability > 0 && Double.random(in: 0..<1, using: &random) < probability
    }

    mutating func note(_ kind: Trouble) { met[kind.rawValue, default: 0] += 1 }

    // MARK: Processes

    /// Starts a process, which takes the machine's calls from now on.
    mutating func begin(on machine: Int) {
        let (lifetimes, weights) = (settings.lifetimes, settings.weights)
        let terms = SharedLimitSettings(
            RateLimit.Window(permits: settings.permits, period: settings.period, isSmooth: false),
            weight: weights.isEmpty ? 1 : weights[machine % weights.count], lowering: settings.lowering,
            lifetime: lifetimes.isEmpty ? settings.lifetime : lifetimes[machine % lifetimes.count])
        let index = processes.count
        machines[machine].process = index
        processes.append(WalkProcess("node-\(index + 1)", on: machine, terms))
        schedule(.renew(index), in: 0.001)
        schedule(.look(index), in: 0.002)
        schedule(.inspect(index), in: 1)
    }

    /// Returns the machine on which an event happens; `nil` for one that happens in the store.
    private func machine(of event: Event) -> Int? {
        switch event {
        case .arrival(let machine), .begin(let machine): machine
        case .alarm(let index), .look(let index), .saw(let index, _, _), .wrote(let index, _, _, _),
            .send(let index, _, _),
            .refused(let index, _), .renew(let index), .renewed(let index, _, _), .inspect(let index),
            .inspected(let index, _, _), .removed(let index, _):
            processes[index].machine
        case .trouble, .commitLimit, .commitLife, .commitRemoval: nil
        }
    }
}
