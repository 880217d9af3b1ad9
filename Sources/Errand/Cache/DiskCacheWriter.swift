/// Makes all changes to the folder of a cache, one after the other: writes, removals and counts.
///
/// Its methods are called where all changes are made, but for `change`, `submit`, `begin` and `noteFailure`.
final class DiskCacheWriter: Sendable {
    /// After so many passes in a row in which a removal has failed, everything is removed.
    private static let mostFailedPasses = 64
    /// So many files are looked at before a change that waits.
    private static let filesOfStep = 64

    private let limit: Int
    private let folder: CacheFolder
    let state: Lock<DiskCacheState>
    /// How long a call waits for a change.
    private let waitLimit: Duration
    private let place: DiskPlace

    init(_ folder: CacheFolder, bytes limit: Int, waitLimit: Duration, _ state: DiskCacheState) {
        (self.folder, self.limit) = (folder, limit)
        self.waitLimit = waitLimit
        self.state = Lock(state)
        place = DiskPlace(folder: folder.path, file: "\(folder.path)/")
    }

    /// Makes a change after those before it, without a wait.
    func submit(_ work: @escaping @Sendable () -> Void) { DiskThreads.submit(at: place, work) }

    /// Makes a change after those before it, and returns its result if it is there in time.
    @discardableResult
    func change<Value: Sendable>(isAwaited: Bool, _ work: @escaping @Sendable () -> Value) async -> Value? {
        guard isAwaited else {
            submit { _ = work() }
            return nil
        }
        return await DiskThreads.result(
            at: place, within: waitLimit, in: CallScope(),
            noting: { isLate in self.state.withLock { $0.slowWrites += isLate ? 1 : -1 } }, of: work)
    }

    /// What the folder holds, as far as that is known.
    var extent: CacheFolder.Extent {
        noteLost()
        return state.withLock { $0.extent ?? CacheFolder.Extent() }
    }

    private func noteLost() {
        let lost = folder.takeLost()
        state.withLock { $0.extent? += lost }
    }

    // MARK: Writing

    /// Writes a response on a thread for the disk. Returns why it was not written.
    func write(
        _ response: StoredResponse, at key: CacheKey, size: Int, unless isTooLate: () -> Bool
    ) -> CacheStatus.Reason? {
        removePending()
        makeRoom(for: size)
        let hasPending = state.withLock { !$0.pending.isEmpty }
        do throws(SystemError) {
            if hasPending { return refuse(response, at: key) }
            switch try folder.write(response, at: key, unless: isTooLate) {
            case .overtaken: return .overtaken
            case .tooManyNames: return .tooLarge
            case .stored(let grown):
                state.withLock { state in
                    state.extent? += grown
                    state.written += size
                }
                return nil
            }
        } catch {
            noteFailure(error)
            return refuse(response, at: key)
        }
    }

    /// Gives up a response that cannot be written.
    private func refuse(_ response: StoredResponse, at key: CacheKey) -> CacheStatus.Reason {
        state.withLock { state in
            for removal in PendingRemoval.outdated(by: response, at: key) { state.pending.add(removal) }
        }
        removePending()
        return .notWritten
    }

    /// Gives a response further tags, if it is there. If that fails, or comes too late, it is removed.
    func add(_ tags: Set<String>, to variant: CacheVariant, at key: CacheKey, unless isTooLate: () -> Bool) {
        if !isTooLate() {
            removePending()
            do throws(SystemError) {
                if !isTooLate(), let grown = try folder.add(tags, to: variant, at: key) {
                    return state.withLock { $0.extent? += grown }
                }
            } catch {
                noteFailure(error)
            }
        }
        // In one pass with what came too early for the tags, so that nothing is found between the two.
        state.withLock { $0.pending.add(.variant(variant, key, nil)) }
        removePending()
    }

    func noteFailure(_ error: SystemError) {
        state.withLock { $0.failures += 1 }
        folder.note(error.words)
    }

    // MARK: Removing

    /// Carries out what is pending, as far as that is possible. Called only where all changes are made.
    ///
    /// What fails is tried again before the next response is written. If that goes on, everything is removed: it is
    /// renamed, and may work where a single file cannot be read.
    func removePending() {
        let entries = state.withLock { $0.pending.entries }
        guard !entries.isEmpty else { return }
        // Under the key of a folder that is gone, nothing would be found, and nothing removed.
        folder.checkKey()
        // In one pass through the folder, or else one by one.
        let failed = settles(entries) ? [] : entries.filter { !settles([$0]) }
        let isHopeless = state.withLock { state in
            state.failedPasses = failed.isEmpty ? 0 : state.failedPasses + 1
            if !failed.isEmpty { state.failures += 1 }
            return state.failedPasses >= Self.mostFailedPasses
        }
        if isHopeless { _ = settles(failed, by: [.removal(.everything)]) }
    }

    /// Carries out what is pending, or another removal that covers it. Returns `false` if that fails.
    private func settles(_ entries: [PendingRemovals.Entry], by removals: [PendingRemoval]? = nil) -> Bool {
        do throws(SystemError) {
            let grown = try folder.remove(removals ?? entries.map(\.removal))
            state.withLock { state in
                for entry in entries {
                    state.pending.settle(entry)
                    state.carriedOut.note(entry.removal.removal)
                }
                state.extent? += grown
            }
            return true
        } catch {
            return false
        }
    }

    // MARK: Counting

    /// Has the folder counted when it is used for the first time.
    func begin() {
        let isFirst = state.withLock { state in
            defer { state.hasBegun = true }
            return !state.hasBegun
        }
        if isFirst { submit { self.beginCount(limit: self.limit) } }
    }

    /// Begins a count, unless one is under way. It goes on between the changes that wait.
    private func beginCount(limit: Int) {
        let isFirst = state.withLock { state in
            guard state.count == nil else { return false }
            (state.count, state.written) = (CacheFolderCount(of: folder, limit: limit), 0)
            return true
        }
        if isFirst { submit { self.goOnCounting() } }
    }

    /// Looks at the next files, and returns whether the count is over. Called only where all changes are made.
    @discardableResult
    private func goOnCounting(_ files: Int = filesOfStep) -> Bool {
        guard var count = state.withLock({ $0.count.take() }) else { return true }
        do throws(SystemError) {
            let extent = try count.step(files) { bit in state.withLock { $0.used.remove(bit) } != nil }
            if let extent {
                state.withLock { $0.note(extent, isComplete: count.isComplete) }
                return true
            }
        } catch {
            noteFailure(error)
            folder.endNoting()
            return true
        }
        state.withLock { $0.count = count }
        submit { self.goOnCounting() }
        return false
    }

    /// Has files removed when there is little room, and waits for that if there is none for so many bytes.
    private func makeRoom(for size: Int) {
        let (hasMuch, isNearlyFull) = state.withLock { state in
            (
                state.written > limit / CacheFolderCount.spare,
                state.extent.map { $0.bytes > limit - limit / CacheFolderCount.reserve } ?? false
            )
        }
        // Another count is due before one is over: other processes may have written as much.
        if hasMuch { finishCount() }
        if hasMuch || isNearlyFull { beginCount(limit: limit) }
        guard isFull(by: size) else { return }
        finishCount()
        guard isFull(by: size) else { return }
        beginCount(limit: limit - size)
        finishCount()
    }

    /// Whether there may be no room for so many bytes.
    private func isFull(by size: Int) -> Bool {
        noteLost()
        return state.withLock { state in
            state.extent.map { $0.bytes + size > limit } ?? (state.written + size > limit / CacheFolderCount.reserve)
        }
    }

    private func finishCount() {
        while !goOnCounting(.max) {}
    }
}
