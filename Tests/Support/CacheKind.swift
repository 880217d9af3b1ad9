package import Errand

/// The caches that tests run with.
package enum CacheKind: CaseIterable, Sendable {
    case memory, disk

    package func cache(in scratch: Scratch) -> HTTPCache {
        switch self {
        case .memory: .memory(megabytes: 1)
        case .disk: .disk(scratch.path("cache"), megabytes: 1)
        }
    }
}
