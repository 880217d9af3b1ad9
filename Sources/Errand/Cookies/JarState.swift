#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The cookies of a jar as a value: which there are, which a request carries, and which go first when there are too
/// many. It has no clock, no lock and no file.
///
/// A cookie belongs to a session, its owner, or to none. A request of a session carries the cookies of the session and
/// those of no session; the latter belong to the session from then on, because the server may have connected them with
/// its user. So what a user was given before a sign-in, such as the cookie of the login itself, goes with the session
/// too, and the next user never sends it. A request of no session carries cookies of no session only.
///
/// The cookies of a domain and an owner are in a list of their own, in the order in which they were set last. So a
/// server can push out its own cookies, and neither those of a session that it does not take part in, nor more than the
/// limits allow.
struct JarState: Sendable {
    /// The limits of a jar (J4).
    struct Limits: Sendable {
        /// The cookies of a domain, for one owner.
        var perDomain = 50
        /// The cookies in all.
        var total = 3000
        /// The bytes in all. Cookies of ordinary length reach the number first.
        var bytes = 1 << 20
        /// The longest `Cookie` header, with its name: servers refuse longer lines, usually those above 8 KiB, and
        /// would refuse every request from then on.
        var header = 8190
    }

    /// A cookie, and what the server does not see of it.
    struct Entry: Sendable {
        var cookie: Cookie
        /// The session that the cookie belongs to; `nil` if it belongs to none.
        var owner: UUID?
        /// A number that grows with each new cookie; another value of a cookie keeps it.
        var created: Int
        /// A number that grows with each cookie that is set.
        var set: Int

        /// Whether the cookie outlives the program, if its session does.
        var isSaved: Bool { cookie.expires != nil }
    }

    private struct Place: Hashable {
        var domain: String
        var owner: UUID?
    }

    private let limits: Limits
    private var places: [Place: [Entry]] = [:]
    private var lastNumber = 0
    private var lastCleaning = Date.distantPast
    /// A number that grows with each change of cookies that outlive the program.
    private(set) var savedVersion = 0
    private(set) var count = 0
    private(set) var bytes = 0

    init(_ limits: Limits = Limits()) {
        self.limits = limits
    }

    /// All cookies, the oldest first.
    var entries: [Entry] { places.values.joined().sorted { $0.created < $1.created } }

    // MARK: What a request carries

    /// Returns the cookies that a request carries, in the order of sending: those with a longer path first, and of
    /// these the older ones (J1).
    func entries(for source: CookieSource, of owner: UUID?, at now: Date) -> [Entry] {
        guard count > 0 else { return [] }
        var found: [Entry] = []
        for domain in source.host.domains {
            found += matches(in: Place(domain: domain), for: source, at: now)
            guard let owner else { continue }
            let place = Place(domain: domain, owner: owner)
            // The session's own cookie hides another value of it, even where it is not sent itself.
            let own = (places[place] ?? []).filter { !$0.cookie.hasExpired(at: now) }
            found.removeAll { other in own.contains { $0.cookie.replaces(other.cookie) } }
            found += matches(in: place, for: source, at: now)
        }
        return found.sorted { left, right in
            let (first, second) = (left.cookie.path.utf8.count, right.cookie.path.utf8.count)
            return first == second ? left.created < right.created : first > second
        }
    }

    /// Returns the value of the `Cookie` header; `nil` if the request carries no cookie. Its cookies belong to the
    /// owner from now on. A cookie that would make the header too long is left out.
    mutating func header(for source: CookieSource, of owner: UUID?, at now: Date) -> String? {
        let entries = entries(for: source, of: owner, at: now)
        for entry in entries where entry.owner != owner { adopt(entry, by: owner) }
        return text(of: entries)
    }

    /// Returns the value of the `Cookie` header that a request would have now, and changes nothing.
    func expectedHeader(for source: CookieSource, of owner: UUID?, at now: Date) -> String? {
        text(of: entries(for: source, of: owner, at: now))
    }

    private func text(of entries: [Entry]) -> String? {
        var header = ""
        var left = limits.header - "Cookie: ".utf8.count
        for entry in entries {
            let pair = entry.cookie.pair
            let length = pair.utf8.count + (header.isEmpty ? 0 : 2)
            guard length <= left else { continue }
            if !header.isEmpty { header += "; " }
            header += pair
            left -= length
        }
        return header.isEmpty ? nil : header
    }

    private func matches(in place: Place, for source: CookieSource, at now: Date) -> [Entry] {
        guard let entries = places[place] else { return [] }
        let isHost = place.domain == source.host.name
        return entries.filter { entry in
            let cookie = entry.cookie
            return (isHost || !cookie.isHostOnly) && (source.isEncrypted || !cookie.isSecure)
                && !cookie.hasExpired(at: now) && CookiePath.reaches(source.path, from: cookie.path)
        }
    }

    private mutating func adopt(_ entry: Entry, by owner: UUID?) {
        lastNumber += 1
        let adopted = Entry(cookie: entry.cookie, owner: owner, created: entry.created, set: lastNumber)
        remove(entry.cookie, of: entry.owner)
        remove(entry.cookie, of: owner)
        append(adopted)
        makeRoom(around: Place(domain: entry.cookie.domain, owner: owner))
    }

    // MARK: What a response sets

    /// Keeps a cookie, or deletes it if it has expired. Returns `false` if it may not be set: over plain http, nothing
    /// replaces, hides or pushes out a `Secure` cookie (J3).
    @discardableResult
    mutating func set(_ cookie: Cookie, of owner: UUID?, isEncrypted: Bool = true, at now: Date) -> Bool {
        guard isEncrypted || !hidesSecureCookie(cookie) else { return false }
        let place = Place(domain: cookie.domain, owner: owner)
        removeExpired(in: place, at: now)
        let earlier = remove(cookie, of: owner)
        guard !cookie.hasExpired(at: now) else {
            // Otherwise the one of no session, which this one has hidden, would be sent again.
            if owner != nil { remove(cookie, of: nil) }
            return true
        }
        if !isEncrypted, let entries = places[place], entries.count >= limits.perDomain,
            entries.allSatisfy(\.cookie.isSecure)
        {
            return false
        }
        lastNumber += 1
        append(Entry(cookie: cookie, owner: owner, created: earlier?.created ?? lastNumber, set: lastNumber))
        makeRoom(around: place, sparingSecure: !isEncrypted, at: now)
        return true
    }

    /// Keeps a cookie that was saved.
    mutating func restore(_ cookie: Cookie, of owner: UUID?, at now: Date) {
        var cookie = cookie
        // A clock that was set wrong when the cookie came would let it live too long.
        cookie.expires = cookie.expires.map { min($0, now.addingTimeInterval(Cookie.longestLifetime)) }
        set(cookie, of: owner, at: now)
    }

    /// Removes the cookies of that session.
    mutating func removeAll(of owner: UUID) {
        for place in places.keys where place.owner == owner { removePlace(place) }
    }

    /// Removes all cookies.
    mutating func removeAll() {
        for place in places.keys { removePlace(place) }
    }

    // MARK: Lists and numbers

    /// Whether a `Secure` cookie that a server takes for the new one would be sent beside it, whoever it belongs to.
    private func hidesSecureCookie(_ cookie: Cookie) -> Bool {
        guard !cookie.isSecure else { return true }
        let host = CookieHost(cookie.domain)
        return places.contains { place, entries in
            guard host.isWithin(place.domain) || CookieHost(place.domain).isWithin(cookie.domain) else { return false }
            return entries.contains { entry in
                entry.cookie.isSecure && entry.cookie.sentName == cookie.sentName
                    && CookiePath.reaches(cookie.path, from: entry.cookie.path)
            }
        }
    }

    @discardableResult
    private mutating func remove(_ cookie: Cookie, of owner: UUID?) -> Entry? {
        let place = Place(domain: cookie.domain, owner: owner)
        guard let index = places[place]?.firstIndex(where: { $0.cookie.replaces(cookie) }) else { return nil }
        return remove(at: index, in: place)
    }

    private mutating func append(_ entry: Entry) {
        places[Place(domain: entry.cookie.domain, owner: entry.owner), default: []].append(entry)
        note(entry, +1)
    }

    @discardableResult
    private mutating func remove(at index: Int, in place: Place) -> Entry? {
        guard let entry = places[place]?.remove(at: index) else { return nil }
        if places[place]?.isEmpty == true { places[place] = nil }
        note(entry, -1)
        return entry
    }

    private mutating func removePlace(_ place: Place) {
        guard let entries = places.removeValue(forKey: place) else { return }
        for entry in entries { note(entry, -1) }
    }

    /// Counts a cookie that has come or gone.
    private mutating func note(_ entry: Entry, _ change: Int) {
        count += change
        bytes += change * entry.cookie.size
        if entry.isSaved { savedVersion += 1 }
    }

    private mutating func removeExpired(in place: Place, at now: Date) {
        guard let entries = places[place], entries.contains(where: { $0.cookie.hasExpired(at: now) }) else { return }
        removePlace(place)
        for entry in entries where !entry.cookie.hasExpired(at: now) { append(entry) }
    }

    private var isTooLarge: Bool { count > limits.total || bytes > limits.bytes }

    /// Removes every cookie that has expired, but not again within a second: a server that sets cookies beyond the
    /// limits would have all others looked at for each.
    private mutating func removeExpired(at now: Date) {
        guard abs(now.timeIntervalSince(lastCleaning)) >= 1 else { return }
        lastCleaning = now
        for place in places.keys { removeExpired(in: place, at: now) }
    }

    /// Removes the cookies that were set longest ago until the limits hold again.
    private mutating func makeRoom(around place: Place, sparingSecure: Bool = false, at now: Date? = nil) {
        while let entries = places[place], entries.count > limits.perDomain {
            let index = sparingSecure ? entries.firstIndex { !$0.cookie.isSecure } : nil
            remove(at: index ?? 0, in: place)
        }
        guard isTooLarge else { return }
        if let now { removeExpired(at: now) }
        while isTooLarge {
            // Each list is in the order in which its cookies were set.
            let candidates = places.compactMap { place, entries -> (place: Place, index: Int, set: Int)? in
                let index = sparingSecure ? entries.firstIndex { !$0.cookie.isSecure } : 0
                return index.map { (place, $0, entries[$0].set) }
            }
            guard let oldest = candidates.min(by: { $0.set < $1.set }) else { return }
            remove(at: oldest.index, in: oldest.place)
        }
    }
}
