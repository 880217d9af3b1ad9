#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Keeps responses, and finds them again.
///
/// A store in memory answers at once. One on a disk answers what it knows, and reads the rest when it is awaited.
protocol CacheStore: Sendable {
    /// Returns the response at that place that matches, if the store knows without a wait; otherwise `.unknown`.
    func lookup(_ key: CacheKey, matching isMatch: (CacheVariant) -> Bool) -> CacheLookup

    /// Returns the response at that place that matches. The wait ends with the scope, and then without a response.
    func read(
        _ key: CacheKey, in scope: CallScope, matching isMatch: @escaping @Sendable (CacheVariant) -> Bool
    ) async -> StoredResponse?

    /// Returns what `read` would, and blocks the thread until the disk has answered.
    func look(at key: CacheKey, matching isMatch: (CacheVariant) -> Bool) -> StoredResponse?

    /// Stores a response in place of the one that depends on the same fields in the same way, unless `isOvertaken`. It
    /// is asked in the moment at which the response becomes visible. It takes over the tags of what it replaces.
    /// Returns why the response was not stored.
    func insert(
        _ response: StoredResponse, at key: CacheKey, unless isOvertaken: @escaping @Sendable () -> Bool
    ) async -> CacheStatus.Reason?

    /// Gives the response that is stored there further tags. If that is not possible, or `isOvertaken`, removes it:
    /// nobody is to find what its tags do not lead to.
    func add(
        _ tags: Set<String>, to variant: CacheVariant, at key: CacheKey,
        unless isOvertaken: @escaping @Sendable () -> Bool
    ) async

    /// Removes that response, if it is still stored.
    func remove(_ response: StoredResponse, at key: CacheKey) async

    /// Removes everything that one of them covers.
    func remove(_ removals: [CacheRemoval]) async

    /// Removes what belongs to a session that has ended: no later lookup finds it.
    func forget(_ session: UUID)

    /// What completes when the store has tried to remove everything that it was told to forget; `nil` if it has.
    var pendingRemoval: Latch? { get }

    /// The number of responses and of their bytes.
    var extent: (responses: Int, bytes: Int) { get }

    /// Returns what is stored.
    func entries() async -> [HTTPCache.Entry]

    /// Removes what is in memory beyond that number of bytes.
    func trimMemory(to bytes: Int)

    /// What keeps it from working, for the first caller that asks.
    func takeProblem() -> String?

    /// Whether it still has its responses in the next process.
    var outlivesProcess: Bool { get }

    /// The number of times that reading or writing was not possible.
    var failures: Int { get }
}

extension CacheStore {
    /// Memory has no problems.
    func takeProblem() -> String? { nil }

    /// Nothing is pending where removing takes no time.
    var pendingRemoval: Latch? { nil }
}

/// What a store knows without a wait.
enum CacheLookup: Sendable {
    case found(StoredResponse)
    case nothing
    case unknown
}
