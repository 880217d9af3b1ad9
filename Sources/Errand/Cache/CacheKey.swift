#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Where a response is stored: below what it answers, and apart for everybody who may see it.
struct CacheKey: Sendable, Hashable {
    /// What a request asks for.
    enum Resource: Sendable, Hashable {
        case url(HTTPURL)
        /// A name that a caller has given to the resource, because its URL is another one each time.
        case named(String, Origin)
    }

    /// Who may see a response: requests of the same session with the same credentials of their own (K7).
    struct Partition: Sendable, Hashable {
        /// The session that signs the request, by its identity: a refresh changes its tokens and not what it may see.
        var session: UUID?
        /// A digest of the credentials that the request itself has.
        var credentials: [UInt8]?
        /// Whether the next process knows the session, so that it can find and remove what belongs to it.
        var outlivesProcess = true

        /// Requests without credentials.
        static let everybody = Partition()
    }

    let resource: Resource
    let partition: Partition
}

/// What is removed from a cache.
enum CacheRemoval: Sendable, Hashable {
    case resource(CacheKey.Resource)
    /// What has that tag, which callers give.
    case tag(String)
    /// What is in that group, which the server of the origin names (RFC 9875).
    case group(String, Origin)
    case session(UUID)
    case everything

    /// Returns whether it covers a response that is stored, or is about to be.
    func covers(_ response: StoredResponse, at key: CacheKey) -> Bool {
        switch self {
        case .resource(let resource): key.resource == resource || .url(response.url) == resource
        case .tag(let tag): response.tags.contains(tag)
        case .group(let name, let origin): response.url.origin == origin && response.groups.contains(name)
        case .session(let session): key.partition.session == session
        case .everything: true
        }
    }

    /// Returns whether one of those that cover a response fulfills a condition.
    static func anyCovering(
        _ response: StoredResponse, at key: CacheKey, where fulfills: (CacheRemoval) -> Bool
    ) -> Bool {
        if fulfills(.everything) || fulfills(.resource(key.resource)) { return true }
        if key.resource.isNamed, fulfills(.resource(.url(response.url))) { return true }
        if let session = key.partition.session, fulfills(.session(session)) { return true }
        return response.tags.contains { fulfills(.tag($0)) }
            || response.groups.contains { fulfills(.group($0, response.url.origin)) }
    }
}

/// The last removals, so that an answer whose request began before one is not stored after it (K11).
struct CacheRemovals: Sendable {
    /// When more different removals are known than this, the older half is forgotten. What begins before those is not
    /// stored any more, whatever they covered.
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
        forgotten = position - Self.capacity / 2
        last = last.filter { $0.value > forgotten }
    }

    /// Returns whether a removal since then covers the response.
    func overtook(_ response: StoredResponse, at key: CacheKey, since start: Int) -> Bool {
        guard start < position else { return false }
        return start < forgotten || CacheRemoval.anyCovering(response, at: key) { last[$0].map { $0 > start } ?? false }
    }
}
