#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A removal that the folder of a cache has not carried out yet.
enum PendingRemoval: Sendable {
    case removal(CacheRemoval)
    /// What is stored of that variant; only that response, if there is one.
    case variant(CacheVariant, CacheKey, StoredResponse?)

    func covers(_ response: StoredResponse, at key: CacheKey) -> Bool {
        switch self {
        case .variant(let variant, let place, let only):
            key == place && response.variant == variant && only.map(response.isSame) ?? true
        // Of what is stored under a name, the URL is not known any more.
        case .removal(.resource(.url)) where key.resource.isNamed: true
        case .removal(let removal): removal.covers(response, at: key)
        }
    }

    /// The removal of all that this covers, or more.
    var removal: CacheRemoval {
        switch self {
        case .variant(_, let key, _): .resource(key.resource)
        case .removal(let removal): removal
        }
    }
}

extension StoredResponse {
    /// Whether both are one response, which may have been read twice.
    func isSame(as other: StoredResponse) -> Bool {
        self === other
            || variant == other.variant && freshness.received.date == other.freshness.received.date
                && status == other.status && headers == other.headers
    }
}
