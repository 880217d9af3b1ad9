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
}

/// The last removals, so that an answer whose request began before one is not stored after it (K11).
struct CacheRemovals: Sendable {
    /// More removals than this during one request are rare; then its answer is not stored, whatever was removed.
    private static let capacity = 128

    private var last: ArraySlice<CacheRemoval> = []
    private var count = 0

    /// The number of removals so far. A request notes it when it begins.
    var position: Int { count }

    mutating func note(_ removal: CacheRemoval) {
        if last.count == Self.capacity { last.removeFirst() }
        last.append(removal)
        count += 1
    }

    /// Returns whether a removal since then covers the response.
    func overtook(_ response: StoredResponse, at key: CacheKey, since position: Int) -> Bool {
        let missed = count - position
        guard missed <= last.count else { return true }
        return last.suffix(missed).contains { $0.covers(response, at: key) }
    }
}
