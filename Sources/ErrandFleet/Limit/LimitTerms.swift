import Errand

/// What a program has asked for when it uses a shared limit.
struct LimitTerms: Hashable, Sendable {
    /// The limit itself, and those that it is within.
    let windows: [RateLimit.Window]
    let settings: SharedLimitSettings
    let outage: Fleet.Outage

    /// Whether permits that were taken under the other terms count the same under these.
    func agrees(with other: LimitTerms) -> Bool {
        settings.period == other.settings.period && settings.isSmooth == other.settings.isSmooth
    }

    /// The limit by itself.
    var limit: RateLimit { RateLimit(windows: Array(windows.prefix(1))) }
}

/// A limiter that may be released at any time.
final class WeakLimiter: Sendable {
    private let reference: Lock<Reference>

    private struct Reference {
        weak var limiter: RateLimiter?
    }

    init(_ limiter: RateLimiter) {
        reference = Lock(Reference(limiter: limiter))
    }

    var limiter: RateLimiter? { reference.withLock { $0.limiter } }
}

extension SharedLimit {
    /// The limiter of a use.
    enum Use: Sendable {
        case limiter(RateLimiter)
        /// Another use has other terms. Its limiter must not be released under a lock.
        case refused(because: RateLimiter?)
    }

    /// The nodes that the record names.
    struct Nodes: Sendable {
        var ids: [String] = []
        /// The longest of their lifetimes.
        var lifetime = Duration.zero
    }
}
