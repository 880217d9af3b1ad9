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
    private let isHead: Bool
    private let hasPlainForm: Bool

    init(_ request: HTTPRequest, rules: CacheRules) {
        let values = request.headers.values("Cache-Control")
        control = CacheControl(values)
        self.rules = rules
        isHead = request.method == .head
        hasPlainForm = Self.isPlain(request)
    }

    /// Whether the cache handles the request: a GET or a HEAD for the whole representation, without conditions of the
    /// caller (K10). QUERY, whose answer depends on its body, is not among them.
    var isHandled: Bool { hasPlainForm && rules.mode != .noStore && !control.noStore }

    /// Why a response is not stored if the cache only passes the request on.
    var bypassReason: CacheStatus.Reason { hasPlainForm && !isHandled ? .forbidden : .bypassed }

    /// Whether a response may be stored as far as the request is concerned.
    var allowsStoring: Bool { isHandled && !isHead }

    /// Whether nothing may be sent.
    var isLocal: Bool { rules.mode == .onlyIfCached || control.onlyIfCached }

    /// Whether the server is asked even if what is stored is fresh.
    var prefersNetwork: Bool { rules.networkFirst != nil && rules.mode == .standard && !isLocal }

    /// Whether the server is asked for the whole response, whatever is stored.
    var isReload: Bool { rules.mode == .reload }

    /// Returns what is stored if the server can confirm it.
    func condition(for stored: StoredResponse?) -> StoredResponse? {
        isReload || isHead ? nil : stored.flatMap { $0.hasValidator ? $0 : nil }
    }

    /// Decides what to do with what is stored for the request, if anything is.
    func decision(on stored: StoredResponse?, at now: CacheMoment) -> Decision {
        guard let stored, !isReload else { return isLocal ? .refuse : .fetch }
        if rules.mode != .refresh, !stored.control.noCache, !control.noCache,
            let age = stored.freshness.age(at: now), let decision = use(of: stored, aged: age)
        {
            return decision
        }
        if isLocal { return .refuse }
        return condition(for: stored) == nil ? .fetch : .revalidate
    }

    /// Returns how to serve what is stored without asking; `nil` if that is not allowed.
    private func use(of stored: StoredResponse, aged age: Double) -> Decision? {
        if let limit = control.maxAge, age > Double(limit) { return nil }
        let remaining = stored.freshness.lifetime - age
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
        guard rules.mode == .standard, !control.isDemanding, !stored.control.noCache,
            let age = stored.freshness.age(at: now)
        else { return nil }
        let staleness = age - stored.freshness.lifetime
        if staleness < 0 { return age }
        guard !stored.control.mustRevalidate else { return nil }
        if rules.networkFirst != nil { return age }
        let allowed = [
            stored.control.staleIfError.map(Double.init), control.staleIfError.map(Double.init),
            rules.staleUpTo?.inSeconds,
        ]
        return allowed.contains { staleness <= $0 ?? -1 } ? age : nil
    }

    /// Methods with conditions, ranges or bodies are not for the cache.
    private static func isPlain(_ request: HTTPRequest) -> Bool {
        guard request.method == .get || request.method == .head, request.body == nil else { return false }
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
