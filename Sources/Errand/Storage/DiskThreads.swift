/// A few threads for file operations, which may block for long: a task that blocks takes one of the threads that all
/// tasks share, and there are only as many as processor cores.
///
/// `DiskSchedule` decides what runs. Threads start on demand. On Linux, a thread that finds no work for a while ends;
/// elsewhere, Dispatch keeps them.
///
/// States of a thread: coming (started or woken, but not there yet), working, idle, ended. `idle` counts the threads
/// that wait on the semaphore, less those for which it has been raised. So a thread whose wait has timed out may end
/// only if `idle` is not 0; otherwise its semaphore has just been raised for it.
package final class DiskThreads: Sendable {
    typealias Job = @Sendable () -> Void
    typealias Schedule = DiskSchedule<Job>

    private struct State {
        var schedule: Schedule
        /// The work that has a place, and waits for a thread that is coming.
        var begun = Queue<(ticket: Schedule.Ticket, job: Job)>()
        var threads = 0
        var coming = 0
        var idle = 0
        /// Whether an alarm is set to look for stuck work.
        var isWatched = false
        /// The disks whose folders are looked at, each by a thread, and whether more work is stuck since that began.
        var unclear: [String: Bool] = [:]
    }

    /// What a thread has done before: nothing if it was started or woken, or a job.
    private enum Last {
        case nothing
        case job(Schedule.Ticket)
    }

    /// What to do outside the lock.
    private struct Actions {
        var wakeUps = 0
        var starts = 0
        var check: Instant?
    }

    static let shared = DiskThreads(disks: .shared)
    /// The Keychain may ask the user before it answers, and no file has to wait for that.
    static let keychain = DiskThreads()

    private let idleSeconds: Int
    private let time: any TimeSource
    private let disks: Disks?
    private let state: Lock<State>
    private let wakeUps = WakeUps()

    /// Creates a pool of threads, each of which ends after that many seconds without work. Without `disks`, each folder
    /// counts as a disk.
    init(
        _ limits: Schedule.Limits = .init(), idleSeconds: Int = 5, time: any TimeSource = .system, disks: Disks? = nil
    ) {
        self.idleSeconds = idleSeconds
        self.time = time
        self.disks = disks
        state = Lock(State(schedule: DiskSchedule(limits)))
    }

    /// The number of threads, and of jobs that wait for one.
    var counts: (threads: Int, waiting: Int) {
        state.withLock { ($0.threads, $0.schedule.waiting + $0.begun.count) }
    }

    /// When work counts as stuck.
    var timeLimit: Duration { state.withLock { $0.schedule.limits.timeLimit } }

    /// Hands over a job, which is run when it has a place.
    @discardableResult
    func submit(at place: DiskPlace, _ job: @escaping Job) -> Schedule.Ticket {
        let disk = disks?.disk(of: place) ?? place.folder
        let (ticket, actions) = state.withLock { state in
            (state.schedule.submit(job, at: place, on: disk), dispatch(&state))
        }
        if !carryOut(actions) {
            // The system has no thread left, and none is free to come: the caller waits.
            while let (ticket, job) = state.withLock({ $0.begun.popFirst() }) {
                job()
                let actions = state.withLock { state in
                    state.schedule.end(ticket)
                    return dispatch(&state)
                }
                carryOut(actions)
            }
        }
        return ticket
    }

    /// Takes a job back that has not begun.
    func withdraw(_ ticket: Schedule.Ticket, at place: DiskPlace) {
        // Released outside the lock: what a job holds may be anybody's.
        var job: Job?
        state.withLock { job = $0.schedule.withdraw(ticket, at: place) }
        withExtendedLifetime(job) {}
    }

    /// Begins what may run, and returns which threads that needs.
    private func dispatch(_ state: inout State) -> Actions {
        var actions = Actions()
        let now = time.now
        while let work = state.schedule.begin(at: now) {
            state.begun.append(work)
        }
        // A thread that was free first may have taken the work of one that is coming.
        while state.coming < state.begun.count {
            state.coming += 1
            if state.idle > 0 {
                state.idle -= 1
                actions.wakeUps += 1
            } else {
                state.threads += 1
                actions.starts += 1
            }
        }
        if !state.isWatched, let check = state.schedule.nextCheck {
            state.isWatched = true
            actions.check = check
        }
        return actions
    }

    /// Returns `false` if the system has no thread left, and every thread that there is may be stuck for good.
    @discardableResult
    private func carryOut(_ actions: Actions) -> Bool {
        for _ in 0..<actions.wakeUps { wakeUps.raise() }
        if let check = actions.check { watch(from: check) }
        var hasThread = true
        for _ in 0..<actions.starts where !SystemThread.start({ self.work() }) {
            let isFirst = state.withLock { state in
                state.threads -= 1
                state.coming -= 1
                hasThread = state.threads > state.schedule.stuck
                defer { state.isWatched = true }
                return !state.isWatched
            }
            // The threads that there are take the work, unless they are stuck.
            if isFirst { watch(from: time.now.advanced(by: timeLimit)) }
        }
        return hasThread
    }

    /// Looks for stuck work at that instant, and replaces its places.
    private func watch(from instant: Instant) {
        _ = time.schedule(at: instant, for: .watch("the end of work on a file")) {
            let (actions, unclear) = self.state.withLock { state in
                state.isWatched = false
                let stuck = state.schedule.replaceStuck(at: self.time.now)
                let unclear = self.disks == nil ? [] : stuck
                return (self.dispatch(&state), unclear.filter { state.unclear.updateValue(true, forKey: $0) == nil })
            }
            self.carryOut(actions)
            for disk in unclear where !SystemThread.start({ self.look(on: disk) }) {
                self.state.withLock { $0.unclear[disk] = nil }
            }
        }
    }

    /// Looks which folders, of those that seem to be on a disk with stuck work, are on another one, and moves them. If
    /// the disk hangs, so does this.
    private func look(on disk: String) {
        while let places = unclearPlaces(on: disk) {
            for place in places {
                guard let other = disks?.look(at: place, on: disk) else { continue }
                let actions = state.withLock { state in
                    state.schedule.move(place.folder, to: other)
                    return dispatch(&state)
                }
                carryOut(actions)
            }
        }
    }

    /// Returns where to look; `nil` if no work has been stuck since the last look.
    private func unclearPlaces(on disk: String) -> [DiskPlace]? {
        state.withLock { state in
            guard state.unclear[disk] == true else {
                state.unclear[disk] = nil
                return nil
            }
            state.unclear[disk] = false
            return state.schedule.places(on: disk)
        }
    }

    /// The life of a thread.
    private func work() {
        while true {
            var last = Last.nothing
            while let (ticket, job) = next(after: last) {
                job()
                last = .job(ticket)
            }
            #if os(Linux)
            guard !wakeUps.wait(seconds: idleSeconds) else { continue }
            let mayEnd = state.withLock { state in
                guard state.idle > 0 else { return false }
                state.idle -= 1
                state.threads -= 1
                return true
            }
            if mayEnd { return }
            wakeUps.wait()
            #else
            return
            #endif
        }
    }

    /// Returns the next job for a thread; `nil` if there is none, so that the thread is idle.
    private func next(after last: Last) -> (ticket: Schedule.Ticket, job: Job)? {
        let (work, actions) = state.withLock { state -> ((ticket: Schedule.Ticket, job: Job)?, Actions) in
            switch last {
            case .nothing: state.coming -= 1
            case .job(let ticket): state.schedule.end(ticket)
            }
            // This thread needs no other one for the work that it takes.
            let own = state.begun.popFirst() ?? state.schedule.begin(at: time.now)
            if own == nil {
                #if os(Linux)
                state.idle += 1
                #else
                state.threads -= 1
                #endif
            }
            return (own, dispatch(&state))
        }
        carryOut(actions)
        return work
    }
}
