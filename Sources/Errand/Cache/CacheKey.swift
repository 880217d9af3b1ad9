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
