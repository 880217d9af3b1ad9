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

    /// Returns those that cover a response that is stored, or is about to be, besides `everything`.
    static func covering(_ response: StoredResponse, at key: CacheKey) -> [CacheRemoval] {
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

    /// Returns whether a removal since then covers the response.
    func overtook(_ response: StoredResponse, at key: CacheKey, since start: Int) -> Bool {
        guard start < position else { return false }
        if start < forgotten || last[.everything].map({ $0 > start }) ?? false { return true }
        return CacheRemoval.covering(response, at: key).contains { last[$0].map { $0 > start } ?? false }
    }
}

/// When the requests were sent that were answered last. So the answer to an earlier request, which comes late, does not
/// take the place of the answer to a later one (K11).
///
/// Of a resource whose responses depend on the same fields, each variant stands for itself.
struct CacheStarts: Sendable {
    /// When more are known than this, the older half is forgotten: requests that take so long are rare.
    static let capacity = 4096

    private struct Place: Hashable {
        let key: CacheKey
        let variant: CacheVariant
    }

    private struct Latest {
        let start: Instant
        /// The fields that the answer depends on; `nil` if it was not stored.
        let names: [String]?
    }

    private var stored: [Place: Instant] = [:]
    private var latest: [CacheKey: Latest] = [:]

    var count: Int { stored.count + latest.count }

    /// Returns whether a later request was answered there in a way that makes this response out of date; otherwise
    /// notes the response.
    mutating func overtook(_ response: StoredResponse, at key: CacheKey, since start: Instant) -> Bool {
        let place = Place(key: key, variant: response.variant)
        if let later = stored[place], later > start { return true }
        if let later = latest[key], later.start > start, later.names != response.variant.names { return true }
        stored[place] = start
        note(Latest(start: start, names: response.variant.names), at: key)
        guard stored.count > Self.capacity else { return false }
        let median = stored.values.sorted()[Self.capacity / 2]
        stored = stored.filter { $0.value > median }
        return false
    }

    /// Notes an answer that is not stored, and says that something else may be out of date.
    mutating func note(unstoredAt key: CacheKey, since start: Instant) {
        note(Latest(start: start, names: nil), at: key)
    }

    private mutating func note(_ answer: Latest, at key: CacheKey) {
        if let later = latest[key], later.start > answer.start { return }
        latest[key] = answer
        guard latest.count > Self.capacity else { return }
        let median = latest.values.map(\.start).sorted()[Self.capacity / 2]
        latest = latest.filter { $0.value.start > median }
    }
}
