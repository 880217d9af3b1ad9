import Dispatch
import Errand

/// An executor with one thread, which runs the jobs of a test in an order that is the same every time.
final class TestExecutor: TaskExecutor {
    private struct State {
        var ready: [UnownedJob] = []
        var head = 0
        var isRunning = false
        var autopilots = 0
        var hasHadAutopilot = false
        var shuffler: SplitMix64?
        var onIdle: (@Sendable () -> Bool)?
        /// Those who wait until the executor is idle.
        var settling: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Lock<State>
    private let queue = DispatchQueue(label: "errand.test-executor")
    private static let current = DispatchSpecificKey<ObjectIdentifier>()

    /// Creates an executor that runs jobs in the order in which they became ready or, with a seed other than 0, in a
    /// shuffled order.
    init(seed: UInt64) {
        // A different sequence from the clock's random numbers: otherwise the two would be correlated.
        state = Lock(State(shuffler: seed == 0 ? nil : SplitMix64(seed: ~seed)))
        queue.setSpecific(key: Self.current, value: ObjectIdentifier(self))
    }

    /// A closure that is called on autopilot when no job is ready. It returns whether it has caused anything.
    var onIdle: (@Sendable () -> Bool)? {
        get { state.withLock { $0.onIdle } }
        set { state.withLock { $0.onIdle = newValue } }
    }

    /// Whether no job runs or is ready.
    var isIdle: Bool { state.withLock { !$0.isRunning } }

    /// Waits until no other job runs or is ready.
    func settled() async {
        await withCheckedContinuation { continuation in
            let isSettled = state.withLock { state in
                guard state.isRunning else { return true }
                state.settling.append(continuation)
                return false
            }
            if isSettled { continuation.resume() }
        }
    }

    /// Whether the current job runs here after an autopilot has ended.
    var isLeftBehind: Bool {
        DispatchQueue.getSpecific(key: Self.current) == ObjectIdentifier(self)
            && state.withLock { $0.hasHadAutopilot && $0.autopilots == 0 }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let mustStart = state.withLock { state in
            state.ready.append(job)
            guard !state.isRunning else { return false }
            state.isRunning = true
            return true
        }
        if mustStart { queue.async { self.runJobs() } }
    }

    func beginAutopilot() {
        state.withLock { state in
            state.autopilots += 1
            state.hasHadAutopilot = true
        }
    }

    func endAutopilot() {
        state.withLock { $0.autopilots -= 1 }
    }

    private func runJobs() {
        while true {
            while let job = next() { job.runSynchronously(on: asUnownedTaskExecutor()) }
            // Those who wait for this moment may have more to do here, before time passes.
            let settled = settlers()
            settled.forEach { $0.resume() }
            if !settled.isEmpty { continue }
            let idle = state.withLock { $0.autopilots > 0 ? $0.onIdle : nil }
            if idle?() == true { continue }
            let isDone = state.withLock { state in
                // Another thread may have begun to wait since the last look.
                guard state.head == state.ready.count, state.settling.isEmpty else { return false }
                state.isRunning = false
                return true
            }
            if isDone { return }
        }
    }

    private func settlers() -> [CheckedContinuation<Void, Never>] {
        state.withLock { state in
            guard state.head == state.ready.count else { return [] }
            defer { state.settling = [] }
            return state.settling
        }
    }

    private func next() -> UnownedJob? {
        state.withLock { state in
            guard state.head < state.ready.count else {
                state.ready.removeAll(keepingCapacity: true)
                state.head = 0
                return nil
            }
            if let choice = state.shuffler?.next(below: state.ready.count - state.head) {
                state.ready.swapAt(state.head, state.head + choice)
            }
            state.head += 1
            return state.ready[state.head - 1]
        }
    }
}

/// A small random number generator whose sequence depends only on its seed (Steele, Lea and Flood, 2014).
struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func next(below bound: Int) -> Int {
        Int(next() % UInt64(max(bound, 1)))
    }
}
