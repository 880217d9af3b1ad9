#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The cookies of a jar behind a lock, and the file that has them too, if there is one.
///
/// Whoever changes a cookie does not wait for the disk: one write is under way at a time, on a thread for the disk, and
/// changes that come meanwhile are written together after it. A cookie that is lost because the program was killed in
/// between is one that the server sets again.
///
/// States of the file: not read, being read, ready. Before it is ready, nothing is written; what has changed by then is
/// newer than what is read.
final class SavedCookies: Sendable {
    private enum Phase {
        case unread, reading, ready
    }

    private struct State {
        var cookies = JarState()
        var phase: Phase
        /// The sessions that have ended, the latest last: nothing brings their cookies back.
        var ended: [UUID] = []
        /// The sessions whose cookies are kept in memory alone, until the sessions end.
        var unsaved: Set<UUID> = []
        /// Complete when the file has been written, or cannot be, after the end of a session.
        var removals: [Latch] = []
        /// Whether all cookies were removed before the file was read.
        var isCleared = false
        /// Whether the file has to be written.
        var isDirty = false
        /// Whether the file may be written. One that cannot be read stays as it is.
        var mayWrite = true
        /// The end of the write under way.
        var writing: Latch?
        var problem: ServiceError? {
            didSet { if oldValue == nil { unreported = problem ?? unreported } }
        }
        /// The first problem since the file was last fine, until somebody has reported it.
        var unreported: ServiceError?

        /// Whether the file has to be read or written before it is what the jar is.
        var isFileBehind: Bool { phase != .ready || writing != nil || isDirty && mayWrite }
    }

    /// How many ended sessions are remembered. A call seldom outlives several.
    private static let rememberedSessions = 16

    private let file: JarFile?
    private let state: Lock<State>
    private let loaded = Latch()

    init(_ file: JarFile?) {
        self.file = file
        state = Lock(State(phase: file == nil ? .ready : .unread))
        if file == nil { loaded.open() }
    }

    /// Whether there is a file.
    var hasFile: Bool { file != nil }

    /// What went wrong with the file last time.
    var problem: ServiceError? { state.withLock { $0.problem } }

    /// Returns the problem that has not been reported, once.
    func takeProblem() -> ServiceError? {
        file == nil ? nil : state.withLock { $0.unreported.take() }
    }

    /// Whether the file has been read.
    var isLoaded: Bool { loaded.isOpen }

    /// Returns something of the cookies, whether the file has been read or not.
    func read<Value: Sendable>(_ body: (JarState) -> Value) -> Value {
        state.withLock { body($0.cookies) }
    }

    /// Changes the cookies for that owner, unless its session has ended.
    func change<Value: Sendable>(
        of owner: CookieOwner? = nil, by time: any TimeSource = SystemTime.shared, _ body: (inout JarState) -> Value?
    ) -> Value? {
        change(by: time) { state in
            if let owner {
                if state.ended.contains(owner.session) { return nil }
                if !owner.outlivesProcess { state.unsaved.insert(owner.session) }
            }
            return body(&state.cookies)
        }
    }

    /// Removes all cookies, and those in the file.
    func removeAll() {
        change { state in
            state.cookies.removeAll()
            guard state.phase != .ready else { return }
            (state.isCleared, state.isDirty) = (true, true)
        }
        startLoading()
    }

    /// Removes the cookies of a session that has ended, and those in the file. Returns what completes when the file has
    /// been written, or cannot be; `nil` if nothing is to be written.
    func removeAll(of session: UUID) -> Latch? {
        change { state in
            if !state.ended.contains(session) {
                if state.ended.count == Self.rememberedSessions { state.ended.removeFirst() }
                state.ended.append(session)
            }
            state.cookies.removeAll(of: session)
            state.unsaved.remove(session)
        }
        startLoading()
        let removal = Latch()
        let isPending = state.withLock { state in
            if state.isFileBehind { state.removals.append(removal) }
            return state.isFileBehind
        }
        return isPending ? removal : nil
    }

    /// Completes the removals, unless the file has still to be read or written.
    private func endRemovals() {
        let over: [Latch] = state.withLock { state in
            guard !state.isFileBehind else { return [] }
            defer { state.removals = [] }
            return state.removals
        }
        for removal in over { removal.open() }
    }

    private func change<Value: Sendable>(
        by time: any TimeSource = SystemTime.shared, _ body: (inout State) -> Value
    ) -> Value {
        guard file != nil else { return state.withLock(body) }
        let (value, mustSave) = state.withLock { state in
            let version = state.cookies.savedVersion
            let value = body(&state)
            if state.cookies.savedVersion != version { state.isDirty = true }
            return (value, state.isDirty)
        }
        if mustSave {
            // A program may change the cookies before a client has needed them.
            startLoading(by: time)
            save(by: time)
        }
        return value
    }

    // MARK: Reading

    /// Begins to read the file, unless that has begun.
    func startLoading(by time: any TimeSource = SystemTime.shared) {
        guard let file else { return }
        let begins = state.withLock { state in
            defer { if state.phase == .unread { state.phase = .reading } }
            return state.phase == .unread
        }
        guard begins else { return }
        DiskThreads.submit(by: time, at: file.path) {
            do throws(StorageError) {
                self.finishLoading(try file.read(), at: time.date)
            } catch {
                self.failLoading(error)
            }
            // First, because who has waited for the file may wait for its changes next.
            self.save(by: time)
            self.loaded.open()
            self.endRemovals()
        }
    }

    /// Waits until the file has been read.
    func load(by time: any TimeSource, in scope: CallScope) async throws(ServiceError) {
        startLoading(by: time)
        try await loaded.opened(in: scope)
    }

    /// Waits until the file has been read, even if the task is canceled.
    func load() async {
        startLoading()
        await loaded.opened()
    }

    private func finishLoading(_ saved: [JarFile.Entry], at now: Date) {
        state.withLock { state in
            state.phase = .ready
            guard !state.isCleared else { return }
            let newer = state.cookies.entries
            state.cookies.removeAll()
            for entry in saved {
                if let owner = entry.owner, state.ended.contains(owner) {
                    state.isDirty = true
                } else {
                    state.cookies.restore(entry.cookie, of: entry.owner, at: now)
                }
            }
            for entry in newer { state.cookies.set(entry.cookie, of: entry.owner, at: now) }
        }
    }

    private func failLoading(_ error: StorageError) {
        state.withLock { state in
            state.phase = .ready
            state.problem = .storage(error)
            state.mayWrite = error.isKeptAside || state.isCleared
        }
    }

    // MARK: Writing

    /// Waits until the file has every change so far.
    func waitUntilSaved() async {
        // Reentrancy: what changes during one wait is written before the next ends.
        while true {
            let (isUnread, writing) = state.withLock { ($0.phase == .unread, $0.writing) }
            if !isUnread, !isLoaded {
                await loaded.opened()
            } else if let writing {
                await writing.opened()
            } else {
                return
            }
        }
    }

    /// Writes the file, unless a write is under way, which then writes once more.
    private func save(by time: any TimeSource) {
        guard let file else { return }
        let writing = Latch()
        let begins = state.withLock { state in
            guard state.isDirty, state.mayWrite, state.phase == .ready, state.writing == nil else { return false }
            state.writing = writing
            return true
        }
        guard begins else { return }
        DiskThreads.submit(by: time, at: file.path) {
            while let entries = self.nextToWrite() {
                var problem: ServiceError?
                do throws(StorageError) {
                    try file.write(entries)
                } catch {
                    problem = .storage(error)
                }
                let found = problem
                self.state.withLock { $0.problem = found }
            }
            writing.open()
            self.endRemovals()
        }
    }

    /// Returns what the file has to hold; `nil` if it does.
    private func nextToWrite() -> [JarFile.Entry]? {
        state.withLock { state in
            guard state.isDirty else {
                state.writing = nil
                return nil
            }
            state.isDirty = false
            let unsaved = state.unsaved
            let entries = state.cookies.entries.filter { entry in
                guard let owner = entry.owner else { return entry.isSaved }
                return entry.isSaved && !unsaved.contains(owner)
            }
            return entries.map { JarFile.Entry(cookie: $0.cookie, owner: $0.owner) }
        }
    }
}

extension ServiceError {
    /// The error of a file that keeps cookies.
    fileprivate static func storage(_ error: StorageError) -> ServiceError {
        .transport(TransportFailure(.storage, error.message))
    }
}
