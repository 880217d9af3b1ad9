/// What a cache on a disk knows without asking the disk.
struct DiskCacheState {
    /// More bits than this are not kept: about 2 MiB.
    private static let mostBits = 1 << 16
    /// More places than this are not known to be empty.
    private static let mostAbsent = 1 << 12

    var removals = CacheRemovals()
    /// The resources of the last responses that were inserted.
    var insertions = CacheRemovals()
    var pending = PendingRemovals()
    /// The last removals that were carried out: a read that began before may have found what they covered.
    var carriedOut = CacheRemovals()
    /// What the folder holds, since it was counted.
    var extent: CacheFolder.Extent?
    /// The number of bytes written since then.
    var written = 0
    /// The count that is under way.
    var count: CacheFolderCount?
    var hasBegun = false
    /// The places at which a response waits to be written, each with the number of those.
    var unwritten: [CacheKey: Int] = [:]
    /// The places at which a response gets tags that wait to be written, each with the number of changes that do so.
    var unwrittenTags: [CacheKey: (tags: Set<String>, changes: Int)] = [:]
    var queued = 0
    /// The places at which the disk has nothing, and nothing was inserted since it has said so.
    var absent: Set<CacheKey> = []
    /// The files that were used, by the checksums of their names.
    var used: Set<UInt64> = []
    /// The reads and writes that have taken longer than calls wait, and are not over.
    var slowReads = 0
    var slowWrites = 0
    var failures = 0
    /// How often in a row not everything could be removed that was pending.
    var failedPasses = 0
    /// The end of the last attempt to remove what belongs to a session that has ended.
    var lastForgetting: Latch?
    /// When the store in memory forgets everything.
    var frontEnd: Instant
    /// Whether the folder may have been removed and made again since it was looked at.
    var mustCheckKey = false

    init(frontEnd: Instant) { self.frontEnd = frontEnd }

    /// Notes that a response at that place waits no longer.
    mutating func noteWritten(_ key: CacheKey) {
        let others = (unwritten[key] ?? 1) - 1
        unwritten[key] = others > 0 ? others : nil
    }

    /// Notes that what is at that place gets those tags.
    mutating func noteUnwritten(_ tags: Set<String>, at key: CacheKey) {
        unwrittenTags[key, default: ([], 0)].tags.formUnion(tags)
        unwrittenTags[key, default: ([], 0)].changes += 1
    }

    /// Notes that one change of tags at that place waits no longer.
    mutating func noteTagged(_ key: CacheKey) {
        unwrittenTags[key]?.changes -= 1
        if unwrittenTags[key]?.changes == 0 { unwrittenTags[key] = nil }
    }

    /// Notes what a count has found. If it could not look at everything, there may be more.
    mutating func note(_ counted: CacheFolder.Extent, isComplete: Bool) {
        if isComplete { extent = counted } else if let known = extent, known.bytes < counted.bytes { extent = counted }
    }

    /// Notes that a file was used.
    mutating func noteUse(of bit: UInt64) {
        if used.count >= Self.mostBits { used.removeAll() }
        used.insert(bit)
    }

    /// Notes that a read which began then has found nothing at a place.
    mutating func noteAbsence(of key: CacheKey, since start: Moment) {
        guard unwritten[key] == nil, !insertions.hasNoted(.resource(key.resource), since: start.insertions) else {
            return
        }
        if absent.count >= Self.mostAbsent { absent.removeAll() }
        absent.insert(key)
    }

    /// What had happened to the store when a read began.
    struct Moment: Sendable {
        let removals: Int
        let carriedOut: Int
        let insertions: Int

        init(_ state: DiskCacheState) {
            removals = state.removals.position
            carriedOut = state.carriedOut.position
            insertions = state.insertions.position
        }
    }
}
