#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A moment on both clocks.
struct CacheMoment: Sendable {
    var date: Date
    /// `nil` if the moment was in another process, whose clock is another one.
    var instant: Instant?
}

/// How old a response is, and how long it is fresh (RFC 9111, 4.2).
///
/// All numbers are seconds. What cannot be read is stale, never fresh (K1).
struct CacheFreshness: Sendable {
    /// The wall clock may be this much behind the monotonic one, which covers its gradual corrections. A step back
    /// beyond that makes a response stale (K15).
    private static let tolerance = 10.0
    /// The share of the time since the last change for which a response without a lifetime is fresh, and the limit of
    /// that: what RFC 9111 (4.2.2) calls typical, and a day.
    private static let heuristic = (share: 0.1, limit: 86_400.0)
    /// The statuses that may be stored without a lifetime (RFC 9110, 15.1), except 206.
    private static let heuristicStatuses: Set<Int> = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]

    /// The lifetime that the server has given, or else a guess, which holds for calls that ask for one.
    let lifetime: Double
    /// Whether the server has given the lifetime. If not, it is another one for each call.
    let isGiven: Bool
    /// The age with which the response arrived.
    let initialAge: Double
    let received: CacheMoment

    /// Reads the fields of a response. `delay` is the time that the server took to answer.
    init(_ headers: HTTPHeaders, status: Int, control: CacheControl, delay: Duration, received: CacheMoment) {
        self.received = received
        // A server's date that cannot be read counts as missing, and then the time of receipt counts (RFC 9110, 6.6.1).
        let date = headers.date("Date", now: received.date) ?? received.date
        let apparent = max(0, received.date.timeIntervalSince(date))
        initialAge = max(apparent, Self.age(headers) + max(0, delay.inSeconds))
        isGiven = control.maxAge != nil || headers["Expires"] != nil
        if let maxAge = control.maxAge {
            lifetime = Double(maxAge)
        } else if headers["Expires"] != nil {
            let end = headers.date("Expires", now: received.date)
            lifetime = end.map { max(0, $0.timeIntervalSince(date)) } ?? 0
        } else if Self.heuristicStatuses.contains(status),
            let change = headers.date("Last-Modified", now: received.date)
        {
            let sinceChange = max(0, date.timeIntervalSince(change))
            lifetime = min(sinceChange * Self.heuristic.share, Self.heuristic.limit)
        } else {
            lifetime = 0
        }
    }

    /// Creates the freshness of a response that was stored by this process or another one.
    init(lifetime: Double, isGiven: Bool = true, initialAge: Double, received: CacheMoment) {
        (self.lifetime, self.isGiven) = (lifetime, isGiven)
        (self.initialAge, self.received) = (initialAge, received)
    }

    /// Returns the age; `nil` if the wall clock has run back since, so that it is not known.
    func age(at now: CacheMoment) -> Double? {
        let byDate = now.date.timeIntervalSince(received.date)
        guard let start = received.instant, let end = now.instant else {
            return byDate < 0 ? nil : initialAge + byDate
        }
        let byInstant = start.duration(to: end).inSeconds
        guard byDate >= byInstant - Self.tolerance else { return nil }
        return initialAge + max(byDate, byInstant)
    }

    /// Whether the response came after another one.
    func isNewer(than other: CacheFreshness) -> Bool {
        guard let own = received.instant, let others = other.received.instant else {
            return received.date > other.received.date
        }
        return own > others
    }

    /// Whether a response with that status may be stored although it does not say so.
    static func isStoredByDefault(_ status: Int) -> Bool { heuristicStatuses.contains(status) }

    /// Of several values the first counts, and a malformed one is ignored (RFC 9111, 5.1).
    private static func age(_ headers: HTTPHeaders) -> Double {
        let first = headers["Age"]?.utf8.prefix { $0 != UInt8(ascii: ",") }
        guard let text = first.map({ Substring($0).trimmed }), let age = FieldParser.wholeNumber(text) else { return 0 }
        return Double(age)
    }
}

extension HTTPHeaders {
    /// Returns the date in the field; `nil` if there is not exactly one, in one of the three forms that HTTP knows.
    ///
    /// Upper and lower case do not matter here (RFC 9111, 4.2).
    func date(_ name: String, now: Date) -> Date? {
        let values = values(name)
        guard values.count == 1, let text = values.first?.trimmed, text.utf8.count <= HTTPDate.longest else {
            return nil
        }
        if text.utf8.count == 29, let date = HTTPDate.parse(text, now: now), !text.utf8.contains(UInt8(ascii: "-")) {
            return date
        }
        let usual = text.utf8.split(separator: UInt8(ascii: " ")).map { word in
            let word = Substring(word).lowercased()
            return word == "gmt" ? "GMT" : word.split(separator: "-").map(\.capitalizedASCII).joined(separator: "-")
        }
        let parts = usual.joined(separator: " ")
        // The year has two digits in the form with hyphens, and four in the others.
        let pieces = parts.utf8.split(separator: UInt8(ascii: "-"))
        let hasShortYear = pieces.count == 3 && pieces[2].dropFirst(2).first == UInt8(ascii: " ")
        guard hasShortYear || pieces.count == 1 && [24, 29].contains(text.utf8.count) else { return nil }
        return HTTPDate.parse(parts, now: now)
    }
}

extension Substring {
    /// The word with a capital first letter.
    fileprivate var capitalizedASCII: String {
        guard let first else { return "" }
        return first.uppercased() + dropFirst()
    }
}
