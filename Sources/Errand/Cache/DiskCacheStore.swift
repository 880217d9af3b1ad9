#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Keeps responses in a folder, up to a number of bytes.
///
/// A disk may be full, damaged, gone or hanging. None of that is an error of a call or makes a wrong answer (K9):
///
/// - What cannot be read is a miss.
/// - No call waits for the disk longer than `waitLimits` allows. When a read took longer, lookups are misses at once
///   until that read is over; when a write took longer, responses are written without a wait.
/// - What is removed is found no more from that moment on: the removal is *pending* until the folder has carried it
///   out, and whatever a pending one covers is a miss. A response that could not be replaced is removed, too. The
///   folder carries removals out in order, before the next response is written, so nothing in it is newer than one.
///   If very many wait, or some cannot be carried out again and again, everything is removed.
/// - A response whose successor waits to be written is a miss. One that gets tags has them at once.
///
/// Changes are made one after the other, in the order in which they were asked for. Reads run beside them.
///
/// In front of the folder is a small store in memory, which holds what was used last. It forgets everything after a
/// minute, so that each minute the folder says what other processes have done to it, and notes what is in use.
final class DiskCacheStore: CacheStore {
    /// How long calls wait for the disk.
    struct WaitLimits: Sendable {
        /// Whatever takes longer to read, most servers send sooner: a quarter of a second.
        var reading = Duration.milliseconds(250)
        /// The response is there already, so its writing is waited for only so that a program may end after its call.
        var writing = Duration.milliseconds(100)
    }

    /// A single response takes no more than this share of the limit, or it would push out all the others.
    private static let largestShare = 4
    /// The store in memory: 4 MiB, or an eighth of the limit if that is less.
    private static let (frontLimit, frontShare) = (4 << 20, 8)
    private static let frontLifetime = Duration.seconds(60)
    /// More bytes than this do not wait to be written: 32 MiB.
    private static let queueLimit = 32 << 20
    /// So many files are looked at for one piece of a list.
    private static let filesOfList = 512

    let limit: Int
    private let folder: CacheFolder
    private let waitLimits: WaitLimits
    /// Says when the store in memory forgets.
    private let time: any TimeSource
    private let front: MemoryCacheStore
    private let writer: DiskCacheWriter

    init(
        _ path: String, bytes limit: Int, waitLimits: WaitLimits = WaitLimits(),
        time: any TimeSource = SystemTime.shared
    ) {
        self.limit = limit
        self.waitLimits = waitLimits
        self.time = time
        folder = CacheFolder(path)
        front = MemoryCacheStore(bytes: min(limit / Self.frontShare, Self.frontLimit))
        writer = DiskCacheWriter(
            folder, bytes: limit, waitLimit: waitLimits.writing,
            DiskCacheState(frontEnd: time.now.advanced(by: Self.frontLifetime)))
    }

    var extent: (responses: Int, bytes: Int) {
        writer.begin()
        let extent = writer.extent
        return (extent.responses, extent.bytes)
    }

    var outlivesProcess: Bool { true }
    var failures: Int { writer.state.withLock { $0.failures } }

    func takeProblem() -> String? {
        folder.takeProblem().map { "the folder of the cache, \(folder.path), cannot be used as it is: \($0)" }
    }

    func trimMemory(to bytes: Int) { front.trimMemory(to: bytes) }

    /// Goes on with a list, or begins it. What cannot be read is left out.
    private static func entries(of folder: CacheFolder, _ walk: inout CacheFolderWalk?) -> [HTTPCache.Entry] {
        do throws(SystemError) {
            var next: CacheFolderWalk
            if let begun = walk {
                next = begun
            } else {
                next = CacheFolderWalk(try folder.names(in: "").filter(CachePlace.isArea))
            }
            defer { walk = next }
            return try folder.entries(&next, upTo: filesOfList)
        } catch {
            return []
        }
    }

    func entries() async -> [HTTPCache.Entry] {
        writer.begin()
        let walk = Lock<CacheFolderWalk?>(nil)
        var entries: [HTTPCache.Entry] = []
        while true {
            let more = await DiskThreads.finish(at: "\(folder.path)/list") { [folder] in
                walk.withLock { Self.entries(of: folder, &$0) }
            }
            if more.isEmpty { return entries }
            entries += more
        }
    }

    // MARK: Reading

    func lookup(_ key: CacheKey, matching isMatch: (CacheVariant) -> Bool) -> CacheLookup {
        let now = time.now
        let (isOver, isSlow) = writer.state.withLock { state in
            let isOver = state.frontEnd <= now
            if isOver { (state.frontEnd, state.mustCheckKey) = (now.advanced(by: Self.frontLifetime), true) }
            return (isOver, state.slowReads > 0)
        }
        if isOver { front.remove(.everything) }
        if case .found(let response) = front.lookup(key, matching: isMatch) { return .found(response) }
        return isSlow ? .nothing : .unknown
    }

    func read(
        _ key: CacheKey, in scope: CallScope, matching isMatch: @escaping @Sendable (CacheVariant) -> Bool
    ) async -> StoredResponse? {
        writer.begin()
        let (start, isWritten) = writer.state.withLock { (DiskCacheState.Moment($0), $0.unwritten[key] == nil) }
        guard isWritten else { return nil }
        let place = DiskPlace(folder: folder.path, file: "\(folder.path)/\(key.hashValue)")
        let found = await DiskThreads.result(
            at: place, within: waitLimits.reading, in: scope,
            noting: { isLate in self.writer.state.withLock { $0.slowReads += isLate ? 1 : -1 } },
            of: { self.find(key, since: start, matching: isMatch) })
        guard let response = (found ?? nil).flatMap({ current($0, at: key, since: start) }) else { return nil }
        if !key.resource.isNamed {
            // A response that has come since is there already, or will be.
            _ = front.insert(response, at: key) { [self] in
                current(response, at: key, since: start)?.tags != response.tags
                    || writer.state.withLock { $0.insertions.overtook(response, at: key, since: start.insertions) }
            }
        }
        return response
    }

    func look(at key: CacheKey, matching isMatch: (CacheVariant) -> Bool) -> StoredResponse? {
        writer.begin()
        let (start, isWritten) = writer.state.withLock { (DiskCacheState.Moment($0), $0.unwritten[key] == nil) }
        guard isWritten, let response = find(key, since: start, matching: isMatch) else { return nil }
        return current(response, at: key, since: start)
    }

    /// Reads a response, which blocks.
    private func find(
        _ key: CacheKey, since start: DiskCacheState.Moment, matching isMatch: (CacheVariant) -> Bool
    ) -> StoredResponse? {
        let mustCheckKey = writer.state.withLock { state in
            defer { state.mustCheckKey = false }
            return state.mustCheckKey
        }
        if mustCheckKey { folder.checkKey() }
        do throws(SystemError) {
            switch try folder.read(key, matching: isMatch) {
            case .found(let response, let name):
                writer.state.withLock { $0.noteUse(of: Checksum.of(name, seed: 0)) }
                return response
            case .others: return nil
            case .nothing:
                writer.state.withLock { $0.noteAbsence(of: key, since: start) }
                return nil
            }
        } catch {
            writer.noteFailure(error)
            return nil
        }
    }

    /// Returns what was read at a place, with the tags that wait to be written: a removal that waits behind them covers
    /// it. Returns `nil` if it is not to be found there any more, or has a successor.
    private func current(
        _ response: StoredResponse, at key: CacheKey, since start: DiskCacheState.Moment
    ) -> StoredResponse? {
        writer.state.withLock { state in
            let response = response.tagged(state.unwrittenTags[key]?.tags ?? [])
            if state.unwritten[key] != nil || state.pending.covers(response, at: key) { return nil }
            let now = DiskCacheState.Moment(state)
            guard (now.removals, now.carriedOut) != (start.removals, start.carriedOut) else { return response }
            let isRemoved =
                key.resource.isNamed || state.removals.overtook(response, at: key, since: start.removals)
                || state.carriedOut.overtook(response, at: key, since: start.carriedOut)
            return isRemoved ? nil : response
        }
    }

    // MARK: Writing

    func insert(
        _ response: StoredResponse, at key: CacheKey, unless isOvertaken: @escaping @Sendable () -> Bool
    ) async -> CacheStatus.Reason? {
        writer.begin()
        // First the position, then the question: a removal between them is seen by one of the two. From now on, nothing
        // older is read.
        let (position, isAbsent) = writer.state.withLock { state in
            state.insertions.note(.resource(key.resource))
            state.unwritten[key, default: 0] += 1
            return (state.removals.position, state.absent.remove(key) != nil)
        }
        let giveUp = { self.writer.state.withLock { $0.noteWritten(key) } }
        let isTooLate = { @Sendable in
            isOvertaken() || self.writer.state.withLock { $0.removals.overtook(response, at: key, since: position) }
        }
        let size = response.size
        let reason = front.insert(response, at: key, unless: isTooLate)
        guard reason != .overtaken else {
            giveUp()
            return .overtaken
        }
        guard size <= limit / Self.largestShare, !response.hasTooManyNames else {
            await enqueue(PendingRemoval.outdated(by: response, at: key), then: giveUp)
            return .tooLarge
        }
        let (isAccepted, isSlow) = writer.state.withLock { state in
            guard state.queued + size <= Self.queueLimit || state.queued == 0 else { return (false, true) }
            state.queued += size
            return (true, state.slowWrites > 0)
        }
        guard isAccepted else {
            writer.state.withLock { $0.failures += 1 }
            // Where the disk has nothing, nothing is out of date.
            await enqueue(isAbsent ? [] : PendingRemoval.outdated(by: response, at: key), then: giveUp)
            return .notWritten
        }
        let outcome = await writer.change(isAwaited: !isSlow) {
            let reason = self.writer.write(response, at: key, size: size, unless: isTooLate)
            // With the tags of what is on the disk, it has too many, also for the store in memory.
            if reason == .tooLarge { self.front.remove(response, at: key) }
            self.writer.state.withLock { state in
                state.queued -= size
                state.noteWritten(key)
            }
            return reason
        }
        return outcome ?? nil
    }

    func add(
        _ tags: Set<String>, to variant: CacheVariant, at key: CacheKey,
        unless isOvertaken: @escaping @Sendable () -> Bool
    ) async {
        let (position, isSlow) = writer.state.withLock { state in
            state.noteUnwritten(tags, at: key)
            return (state.removals.position, state.slowWrites > 0)
        }
        let isTooLate = { @Sendable in
            isOvertaken() || self.writer.state.withLock { $0.removals.mayHaveNoted(tags, since: position) }
        }
        front.add(tags, to: variant, at: key, unless: isTooLate)
        await writer.change(isAwaited: !isSlow) {
            self.writer.add(tags, to: variant, at: key, unless: isTooLate)
            // What was read before does not come into the store in memory from now on, and what has come gets the tags.
            self.writer.state.withLock { state in
                state.insertions.note(.resource(key.resource))
                state.noteTagged(key)
            }
            self.front.add(tags, to: variant, at: key, unless: isTooLate)
        }
    }

    // MARK: Removing

    func remove(_ response: StoredResponse, at key: CacheKey) async {
        let identity = response.identity
        await enqueue([.variant(response.variant, key, identity)]) {
            let present = front.lookup(key) { $0 == response.variant }
            if case .found(let present) = present, present.identity == identity { front.remove(present, at: key) }
        }
    }

    func remove(_ removals: [CacheRemoval]) async {
        await enqueue(removals.map(PendingRemoval.removal)) { front.remove(removals) }
    }

    func forget(_ session: UUID) {
        let forgetting = Latch()
        writer.state.withLock { state in
            state.removals.note(.session(session))
            state.pending.add(.removal(.session(session)))
            state.lastForgetting = forgetting
        }
        front.remove(.session(session))
        writer.submit {
            self.writer.removePending()
            forgetting.open()
        }
    }

    var pendingRemoval: Latch? {
        // Changes are made in order, so the last attempt is over after those before it.
        guard let last = writer.state.withLock({ $0.lastForgetting }), !last.isOpen else { return nil }
        return last
    }

    /// Notes removals and has them carried out. `update` changes the rest after they are noted: what a read finds until
    /// then may come into the store in memory, and what it finds later may not.
    private func enqueue(_ removals: [PendingRemoval], then update: () -> Void) async {
        if removals.isEmpty { return update() }
        let isSlow = writer.state.withLock { state in
            for pending in removals {
                if case .removal(let removal) = pending { state.removals.note(removal) }
                state.pending.add(pending)
            }
            return state.slowWrites > 0
        }
        update()
        await writer.change(isAwaited: !isSlow) { self.writer.removePending() }
    }
}
