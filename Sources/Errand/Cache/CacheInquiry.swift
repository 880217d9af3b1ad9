#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a request asks of the cache: its own directives and the rules of its call.
struct CacheInquiry: Sendable {
    /// What to do with what is stored.
    enum Decision: Sendable {
        /// It is fresh.
        case serve(age: Double)
        /// It has expired, and may be served all the same. As a rule it is refreshed beside.
        case serveStale(age: Double, CacheStatus.Reason, refreshing: Bool)
        /// The server has to confirm it.
        case revalidate
        /// It is of no use.
        case fetch
        /// Nothing may be sent.
        case refuse
    }

    private let control: CacheControl
    private let rules: CacheRules
    private let method: HTTPMethod
    /// Whether it is of a form that the cache handles: it reads something whole, without conditions of the caller.
    let isRead: Bool

    init(_ request: HTTPRequest, rules: CacheRules) {
        let values = request.headers.values("Cache-Control")
        control = CacheControl(values)
        self.rules = rules
        method = request.method
        isRead = Self.isRead(request, isNamed: rules.key != nil)
    }

    /// Whether the cache handles the request (K10).
    var isHandled: Bool { isRead && rules.mode != .noStore && !control.noStore }

    /// Why a response is not stored if the cache only passes the request on.
    var bypassReason: CacheStatus.Reason { isRead && !isHandled ? .forbidden : .bypassed }

    /// Whether a response may be stored as far as the request is concerned.
    var allowsStoring: Bool { isHandled && method != .head }

    /// Whether nothing may be sent.
    var isLocal: Bool { rules.mode == .onlyIfCached || control.onlyIfCached }

    /// Whether the server is asked even if what is stored is fresh.
    var prefersNetwork: Bool { rules.networkFirst != nil && rules.mode == .standard && !isLocal }

    /// Whether the server is asked for the whole response, whatever is stored.
    var isReload: Bool { rules.mode == .reload }

    /// Returns what is stored if the server can confirm it.
    func condition(for stored: StoredResponse?) -> StoredResponse? {
        isReload || method == .head || method == .post ? nil : stored.flatMap { $0.hasValidator ? $0 : nil }
    }

    /// Decides what to do with what is stored for the request, if anything is.
    func decision(on stored: StoredResponse?, at now: CacheMoment) -> Decision {
        guard let stored, !isReload else { return isLocal ? .refuse : .fetch }
        if rules.mode != .refresh, !stored.control.noCache, !stored.control.noStore, !control.noCache,
            let age = stored.freshness.age(at: now), let decision = use(of: stored, aged: age)
        {
            return decision
        }
        if isLocal {
            guard rules.keepsCopy, !control.isDemanding, let age = stored.freshness.age(at: now) else { return .refuse }
            return .serveStale(age: age, .accepted, refreshing: false)
        }
        return condition(for: stored) == nil ? .fetch : .revalidate
    }

    /// Returns how to serve what is stored without asking; `nil` if that is not allowed.
    private func use(of stored: StoredResponse, aged age: Double) -> Decision? {
        if let limit = control.maxAge, age > Double(limit) { return nil }
        let remaining = rules.lifetime(of: stored) - age
        if remaining > 0, remaining >= Double(control.minFresh ?? 0) { return .serve(age: age) }
        // What a request demands is not weakened by what it or its call tolerates otherwise.
        guard control.minFresh == nil, !stored.control.mustRevalidate else { return nil }
        if let limit = control.maxStale, -remaining <= Double(limit) {
            return .serveStale(age: age, .accepted, refreshing: false)
        }
        if let limit = rules.staleUpTo?.inSeconds, -remaining <= limit {
            return .serveStale(age: age, .accepted, refreshing: !isLocal)
        }
        // Served while it is refreshed: where nothing may be sent, it would not be.
        if let limit = stored.control.staleWhileRevalidate, -remaining < Double(limit), !isLocal {
            return .serveStale(age: age, .refreshing, refreshing: true)
        }
        return nil
    }

    /// Returns the age of what is stored if it may be served because the server has failed or is slow; otherwise `nil`.
    func ageIfUsableOnFailure(_ stored: StoredResponse, at now: CacheMoment) -> Double? {
        guard rules.mode == .standard, !control.isDemanding, let age = stored.freshness.age(at: now) else { return nil }
        if rules.keepsCopy { return age }
        guard !stored.control.noCache else { return nil }
        let staleness = age - rules.lifetime(of: stored)
        if staleness < 0 { return age }
        guard !stored.control.mustRevalidate else { return nil }
        if rules.networkFirst != nil { return age }
        let allowed = [
            stored.control.staleIfError.map(Double.init), control.staleIfError.map(Double.init),
            rules.staleUpTo?.inSeconds,
        ]
        return allowed.contains { staleness <= $0 ?? -1 } ? age : nil
    }

    /// Whether what is stored is fresh for the call at that age.
    func isFresh(_ stored: StoredResponse, aged age: Double) -> Bool { age < rules.lifetime(of: stored) }

    /// Requests with conditions, ranges or streams are not for the cache. A POST only reads if its call says so, by a
    /// name for what it reads.
    private static func isRead(_ request: HTTPRequest, isNamed: Bool) -> Bool {
        switch request.method {
        case .get, .head: if request.body != nil { return false }
        case .query: if let body = request.body, body.bytes == nil { return false }
        case .post: if !isNamed || request.body.map({ $0.bytes == nil }) ?? false { return false }
        default: return false
        }
        return !request.headers.fields.contains { field in
            switch field.name.utf8.count {
            case 5: field.name.equalsIgnoringCase("Range")
            case 8: field.name.equalsIgnoringCase("If-Match") || field.name.equalsIgnoringCase("If-Range")
            case 13: field.name.equalsIgnoringCase("If-None-Match")
            case 17: field.name.equalsIgnoringCase("If-Modified-Since")
            case 19: field.name.equalsIgnoringCase("If-Unmodified-Since")
            default: false
            }
        }
    }
}

extension CacheRules {
    /// Returns how long a response is fresh for the call, in seconds.
    func lifetime(of freshness: CacheFreshness, status: Int) -> Double {
        if freshness.isGiven { return freshness.lifetime }
        if let lifetime, (200..<300).contains(status) { return max(0, lifetime.inSeconds) }
        return isHeuristic ? freshness.lifetime : 0
    }

    func lifetime(of response: StoredResponse) -> Double { lifetime(of: response.freshness, status: response.status) }
}
