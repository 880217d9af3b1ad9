#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Keeps responses in memory or in a folder, so that they need not be sent again while they are fresh (RFC 9111).
///
///     let client = APIClient("https://api.example.com") {
///         $0.cache = .memory(megabytes: 50)
///     }
///
/// Nothing is stored against the will of the server, and nothing that is not fresh is used without asking it, except
/// where it or the call allows that: ``CachePolicy``. ``Reply/cache`` says what the cache has done.
///
/// It is a private cache: what a user is given belongs to the session of that user, and is removed when the session
/// ends. Requests with credentials of their own, an `Authorization` or `Cookie` header for instance, only share
/// responses with requests that have the same. No credential is kept.
///
/// A request that changes something removes what is stored for its URL. Several clients can share a cache.
public final class HTTPCache: Sendable {
    /// What a cache holds, and how often it was of use.
    public struct Statistics: Sendable, Hashable {
        /// The number of stored responses.
        public let responses: Int
        /// The number of bytes that they take, about.
        public let bytes: Int
        /// The number of responses that were used without asking the server.
        public let hits: Int
        /// The number of responses that the server has confirmed.
        public let revalidated: Int
        /// The number of responses that came from the server although the cache was asked.
        public let misses: Int
        /// The number of times that the folder of a cache on a disk could not be read or written. Each was a miss, or a
        /// response that was not stored.
        public let failures: Int
    }

    private struct State {
        var hasWarned = false
        var removals = CacheRemovals()
        var starts = CacheStarts()
        /// The places whose responses are being refreshed.
        var refreshing: Set<CacheKey> = []
        var (hits, revalidated, misses) = (0, 0, 0)
    }

    let store: any CacheStore
    /// What is wrong with it; `nil` if it is valid.
    let problem: String?
    /// Makes digests of credentials that mean nothing elsewhere.
    private let salt: [UInt8]
    private let state = Lock(State())

    private init(_ store: any CacheStore, salt: [UInt8], problem: String?) {
        self.store = store
        self.salt = salt
        self.problem = problem
    }

    /// Creates a cache in memory, which takes that many megabytes at most. The responses that were not used for the
    /// longest time go first, and a response that is larger than a quarter of the limit is not stored.
    public static func memory(megabytes: Int) -> HTTPCache {
        var random = SystemRandomNumberGenerator()
        return HTTPCache(
            MemoryCacheStore(bytes: bytes(megabytes)),
            salt: (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) }, problem: problem(megabytes))
    }

    /// Creates a cache in a folder, whose files take that many megabytes at most. It outlives the process, and several
    /// processes can share the folder. In one process, share the cache instead.
    ///
    ///     $0.cache = .disk("com.example.app", megabytes: 200)
    ///
    /// Give it a folder for itself. A missing folder is created, for its owner alone. A relative path is below the
    /// user's folder for caches: `Library/Caches` on Apple's platforms, elsewhere `$XDG_CACHE_HOME` or `~/.cache`.
    ///
    /// The responses of a session that no later process knows, because its ``TokenStore`` saves it nowhere, are kept in
    /// memory: up to 16 MiB, or the limit if that is less. Before a program ends after a sign-out, wait for
    /// ``TokenStore/waitUntilSaved()``, so that the responses of the session are removed from the folder.
    ///
    /// Nothing that happens to the folder is an error of a call: what cannot be read is a miss, what cannot be written
    /// is not stored, and ``Statistics-swift.struct/failures`` counts both. A disk that hangs holds up a call for a
    /// quarter of a second at most. The folder may be deleted at any time.
    ///
    /// The responses that were not used for the longest time go first. A response that is larger than a quarter of the
    /// limit is not stored.
    public static func disk(_ folder: String, megabytes: Int) -> HTTPCache {
        let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first?.path ?? "."
        let path = folder.hasPrefix("/") ? folder : "\(caches)/\(folder)"
        return HTTPCache(
            SplitCacheStore(path.last == "/" ? String(path.dropLast()) : path, bytes: bytes(megabytes)),
            // The key of the folder hides the digests there.
            salt: [],
            problem: problem(megabytes) ?? (folder.isEmpty || path == "/" ? "a cache without a folder" : nil))
    }

    /// Creates a cache in the folder at that file URL: see ``disk(_:megabytes:)-(String,_)``.
    public static func disk(_ folder: URL, megabytes: Int) -> HTTPCache {
        disk(folder.path, megabytes: megabytes)
    }

    private static func bytes(_ megabytes: Int) -> Int {
        let (bytes, overflow) = megabytes.multipliedReportingOverflow(by: 1 << 20)
        return overflow ? .max : bytes
    }

    private static func problem(_ megabytes: Int) -> String? {
        megabytes > 0 ? nil : "a cache of \(megabytes) megabytes; use `nil` for no cache"
    }

    /// What the cache holds now, and how often it was of use.
    public var statistics: Statistics {
        let extent = store.extent
        return state.withLock { state in
            Statistics(
                responses: extent.responses, bytes: extent.bytes, hits: state.hits, revalidated: state.revalidated,
                misses: state.misses, failures: store.failures)
        }
    }

    /// Removes what is stored for that URL, for all users.
    ///
    /// Pass the absolute URL that was sent, with its query and the parameters that the client adds to each call:
    /// `https://api.example.com/friends?app=7`. For a relative path such as `friends`, nothing is removed. If you have
    /// the endpoint, use ``APIClient/removeCached(_:)``, which builds the URL.
    public func remove(_ url: String) async {
        guard let url = try? HTTPURL(reading: url) else { return }
        await remove(.resource(.url(url)))
    }

    /// Removes what is stored for that URL and for all below it, whatever their queries, for all users: with
    /// `https://api.example.com/friends` also `/friends/7` and `/friends?page=2`, but not `/friendships`.
    ///
    /// For a relative path, nothing is removed. A cache on a disk looks into all of its files for this.
    public func removeAll(below url: String) async {
        guard let url = try? HTTPURL(reading: url) else { return }
        await remove(.below(url))
    }

    /// Removes what calls with that tag have stored or used. See ``Endpoint/tags(_:)``.
    public func invalidate(tag: String) async {
        await remove(.tag(tag))
    }

    /// Removes what belongs to the current session of that store.
    public func removeAll(of tokens: TokenStore) async {
        // A session that has not been loaded may have something on the disk.
        if outlivesProcess { _ = await tokens.isSignedIn }
        if let session = tokens.presentSession { await remove(.session(session)) }
    }

    /// Removes everything.
    public func removeAll() async {
        await remove(.everything)
    }

    /// Removes what is in memory beyond that many megabytes, and what was not used for the longest time first. Call it
    /// when the system warns that memory is short.
    ///
    /// A cache on a disk keeps its files. In memory it has what it has read last, and the responses of sessions that no
    /// later process knows.
    public func trimMemory(toMegabytes megabytes: Int = 0) {
        store.trimMemory(to: max(0, Self.bytes(megabytes)))
    }

    /// What is stored, to look at: the responses that came last are first.
    ///
    /// A cache on a disk reads the beginning of each of its files for this.
    public var entries: [Entry] {
        get async { await store.entries().sorted { $0.received > $1.received } }
    }
}

extension HTTPCache {
    /// Removes what they cover. An answer to a request that has begun before is not stored any more (K11).
    func remove(_ removals: [CacheRemoval]) async {
        guard !removals.isEmpty else { return }
        state.withLock { for removal in removals { $0.removals.note(removal) } }
        await store.remove(removals)
    }

    func remove(_ removal: CacheRemoval) async { await remove([removal]) }

    /// Removes what belongs to a session that has ended.
    func forget(_ session: UUID) {
        state.withLock { $0.removals.note(.session(session)) }
        store.forget(session)
    }

    /// A sentence about what keeps the cache from working, for the first caller that asks. `reason` says why a response
    /// was not stored.
    func takeWarning(_ reason: CacheStatus.Reason?) -> String? {
        if let problem = store.takeProblem() { return problem }
        guard reason == .addedBelow,
            state.withLock({ state in
                defer { state.hasWarned = true }
                return !state.hasWarned
            })
        else { return nil }
        return """
            a response is not stored, because middleware below the cache has changed its request in a way that may \
            choose the response; if a header has the same value in all requests, name it in `constantHeaders`, and if \
            it says nothing about who asks, in `anonymousHeaders`
            """
    }

    /// The number of removals so far, which a request notes when it begins.
    var position: Int { state.withLock { $0.removals.position } }

    /// Whether a removal since that position covers a response.
    func hasRemoved(_ response: StoredResponse, at key: CacheKey, since position: Int) -> Bool {
        state.withLock { $0.removals.overtook(response, at: key, since: position) }
    }

    /// Stores a response to a request that began at that position, and was sent at that instant. Returns why it was not
    /// stored.
    func insert(
        _ response: StoredResponse, at key: CacheKey, since position: Int, sentAt start: Instant
    ) async -> CacheStatus.Reason? {
        await store.insert(response, at: key) { [self] in
            state.withLock { state in
                state.removals.overtook(response, at: key, since: position)
                    || state.starts.overtook(response, at: key, since: start)
            }
        }
    }

    /// Adds the tags of a call that was answered with what is stored, unless a removal since then covers that.
    func add(_ tags: Set<String>, to stored: StoredResponse, at key: CacheKey, since position: Int) async {
        let tagged = stored.tagged(tags).withoutBody
        await store.add(tags, to: stored.variant, at: key) { [self] in
            hasRemoved(tagged, at: key, since: position)
        }
    }

    /// Notes that a request which was sent at that instant was answered with something that is not stored.
    func noteUnstored(at key: CacheKey, sentAt start: Instant) {
        state.withLock { $0.starts.note(unstoredAt: key, since: start) }
    }

    /// Returns a digest of credentials. It is a key of this cache, and of no use to anybody else.
    func digest(of credentials: String) -> [UInt8] {
        SHA256.hash(of: Data(salt) + Data(credentials.utf8))
    }

    /// Begins the refresh of what is stored there. Returns `false` if it is being refreshed already (K12).
    func beginRefresh(of key: CacheKey) -> Bool {
        state.withLock { $0.refreshing.insert(key).inserted }
    }

    func endRefresh(of key: CacheKey) {
        state.withLock { _ = $0.refreshing.remove(key) }
    }

    func count(_ kind: CacheStatus.Kind) {
        state.withLock { state in
            switch kind {
            case .hit, .stale: state.hits += 1
            case .revalidated: state.revalidated += 1
            default: state.misses += 1
            }
        }
    }
}

extension HTTPCache: SessionKeeper {
    func remove(session: UUID) -> Latch? {
        forget(session)
        return store.pendingRemoval
    }

    var outlivesProcess: Bool { store.outlivesProcess }
}

extension HTTPCache: OpaqueReflectable {
    /// The number of responses and of their bytes.
    public var description: String {
        let extent = store.extent
        return "HTTPCache(\(extent.responses) responses, \(extent.bytes) bytes)"
    }
}
