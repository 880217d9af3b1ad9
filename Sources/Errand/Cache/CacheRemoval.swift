#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What is removed from a cache.
enum CacheRemoval: Sendable, Hashable {
    case resource(CacheKey.Resource)
    /// What has that URL, under a name or not, and belongs to that session.
    case own(HTTPURL, UUID)
    /// What has that path, or one below it.
    case below(Origin, path: String)
    /// What has that tag, which callers give.
    case tag(String)
    /// What is in that group, which the server of the origin names (RFC 9875).
    case group(String, Origin)
    case session(UUID)
    case everything

    /// More levels of a path than this are not told apart.
    private static let mostLevels = 32

    /// What is stored for that URL and for all below it, whatever their queries.
    static func below(_ url: HTTPURL) -> CacheRemoval { .below(url.origin, path: paths(to: url).last ?? "") }

    /// Returns the path of a URL and those above it, without slashes at their ends.
    static func paths(to url: HTTPURL) -> [String] {
        var paths = [""]
        for part in url.path.split(separator: "/").prefix(mostLevels) {
            paths.append("\(paths[paths.count - 1])/\(part)")
        }
        return paths
    }

    /// Returns those that cover a response that is stored, or is about to be, besides `everything`.
    static func covering(_ response: StoredResponse, at key: CacheKey) -> [CacheRemoval] {
        indexed(response, at: key) + (key.partition.session.map { [.own(response.url, $0)] } ?? [])
            + paths(to: response.url).map { .below(response.url.origin, path: $0) }
    }

    /// Returns those of them whose number does not grow with the path, and that no other index covers.
    static func indexed(_ response: StoredResponse, at key: CacheKey) -> [CacheRemoval] {
        var removals: [CacheRemoval] = [.resource(key.resource)]
        // What is stored under a name has a URL too.
        if key.resource.isNamed { removals.append(.resource(.url(response.url))) }
        if let session = key.partition.session { removals.append(.session(session)) }
        removals += response.tags.map(CacheRemoval.tag)
        removals += response.groups.map { .group($0, response.url.origin) }
        return removals
    }
}

/// The last removals, so that an answer whose request began before one is not stored after it (K11).
struct CacheRemovals: Sendable {
    /// When more different removals are known than this, the older half is forgotten. What began before the last of
    /// those is not stored, whatever they covered.
    static let capacity = 4096

    /// The position of each, when it was noted last.
    private var last: [CacheRemoval: Int] = [:]
    /// The number of removals so far. A request notes it when it begins.
    private(set) var position = 0
    /// Up to this position, only some are known.
    private var forgotten = 0

    mutating func note(_ removal: CacheRemoval) {
        position += 1
        last[removal] = position
        guard last.count > Self.capacity else { return }
        forgotten = last.values.sorted()[last.count - Self.capacity / 2 - 1]
        last = last.filter { $0.value > forgotten }
    }

    /// Returns whether that may have been removed since then.
    func hasNoted(_ removal: CacheRemoval, since start: Int) -> Bool {
        guard start < position else { return false }
        return start < forgotten || (last[removal] ?? 0) > start
    }

    /// Returns whether one of those tags, or everything, may have been removed since then.
    func mayHaveNoted(_ tags: Set<String>, since start: Int) -> Bool {
        hasNoted(.everything, since: start) || tags.contains { hasNoted(.tag($0), since: start) }
    }

    /// Returns whether a removal since then covers the response.
    func overtook(_ response: StoredResponse, at key: CacheKey, since start: Int) -> Bool {
        guard start < position else { return false }
        if start < forgotten || last[.everything].map({ $0 > start }) ?? false { return true }
        return CacheRemoval.covering(response, at: key).contains { last[$0].map { $0 > start } ?? false }
    }
}
