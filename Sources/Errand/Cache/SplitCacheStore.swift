#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Keeps in a folder what a later process can find and remove, and everything else in memory.
///
/// No later process knows a session that is not saved. In the folder, its responses would never be found again, and a
/// sign-out could not remove them: only the limit would (K7).
final class SplitCacheStore: CacheStore {
    /// The responses in memory take no more than this, or than the limit of the folder: 16 MiB.
    private static let memoryLimit = 16 << 20

    private let disk: DiskCacheStore
    private let memory: MemoryCacheStore

    init(_ path: String, bytes limit: Int) {
        disk = DiskCacheStore(path, bytes: limit)
        memory = MemoryCacheStore(bytes: min(limit, Self.memoryLimit))
    }

    private func store(of key: CacheKey) -> any CacheStore { key.partition.outlivesProcess ? disk : memory }

    func lookup(_ key: CacheKey, matching isMatch: (CacheVariant) -> Bool) -> CacheLookup {
        store(of: key).lookup(key, matching: isMatch)
    }

    func read(
        _ key: CacheKey, in scope: CallScope, matching isMatch: @escaping @Sendable (CacheVariant) -> Bool
    ) async -> StoredResponse? {
        await store(of: key).read(key, in: scope, matching: isMatch)
    }

    func look(at key: CacheKey, matching isMatch: (CacheVariant) -> Bool) -> StoredResponse? {
        store(of: key).look(at: key, matching: isMatch)
    }

    func insert(
        _ response: StoredResponse, at key: CacheKey, unless isOvertaken: @escaping @Sendable () -> Bool
    ) async -> CacheStatus.Reason? {
        await store(of: key).insert(response, at: key, unless: isOvertaken)
    }

    func add(
        _ tags: Set<String>, to variant: CacheVariant, at key: CacheKey,
        unless isOvertaken: @escaping @Sendable () -> Bool
    ) async {
        await store(of: key).add(tags, to: variant, at: key, unless: isOvertaken)
    }

    func remove(_ response: StoredResponse, at key: CacheKey) async {
        await store(of: key).remove(response, at: key)
    }

    func remove(_ removals: [CacheRemoval]) async {
        memory.remove(removals)
        await disk.remove(removals)
    }

    func forget(_ session: UUID) {
        memory.forget(session)
        disk.forget(session)
    }

    func entries() async -> [HTTPCache.Entry] { await disk.entries() + memory.entries() }

    func trimMemory(to bytes: Int) {
        disk.trimMemory(to: bytes)
        memory.trimMemory(to: bytes)
    }

    func takeProblem() -> String? { disk.takeProblem() }

    var pendingRemoval: Latch? { disk.pendingRemoval }

    var extent: (responses: Int, bytes: Int) {
        let (onDisk, inMemory) = (disk.extent, memory.extent)
        return (onDisk.responses + inMemory.responses, onDisk.bytes + inMemory.bytes)
    }

    var outlivesProcess: Bool { true }
    var failures: Int { disk.failures }
}
