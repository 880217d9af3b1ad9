#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What distinguishes one version of a resource from another with certainty, so that bytes of two responses can be
/// joined: a strong entity tag, or a date of change that is as good as one.
enum FileVersion: Sendable, Hashable, Codable {
    case tag(String)
    case date(String)

    /// The time, in seconds, by which a resource must have been older than the response for its date to be certain: it
    /// may have changed twice in one second, and the server's two clocks may differ (RFC 9110, 8.8.2.2).
    private static let settled = 60.0

    /// Reads the version from the headers of a response. Returns `nil` if they have none, or only a weak one (RFC 9110,
    /// 13.1.5), or several that differ.
    init?(_ headers: HTTPHeaders) {
        guard headers["ETag"] == nil else {
            guard let tag = headers.only("ETag"), Self.isStrong(tag) else { return nil }
            self = .tag(tag)
            return
        }
        guard let changed = headers.only("Last-Modified"), let now = headers.only("Date"),
            let (changedAt, sentAt) = Self.dates(changed, now), sentAt.timeIntervalSince(changedAt) >= Self.settled
        else { return nil }
        self = .date(changed)
    }

    /// The value for `If-Range`.
    var condition: String {
        switch self {
        case .tag(let text), .date(let text): text
        }
    }

    /// Returns whether a part of a file with those headers is a part of this version.
    ///
    /// A server has to repeat the entity tag with a part. It may leave the date out when the request was conditional,
    /// because the client has it (RFC 9110, 15.3.7).
    func matchesPart(with headers: HTTPHeaders) -> Bool {
        switch self {
        case .tag(let tag): headers.only("ETag") == tag
        case .date(let date): headers["ETag"] == nil && headers.values("Last-Modified").allSatisfy { $0 == date }
        }
    }

    static func == (left: FileVersion, right: FileVersion) -> Bool {
        switch (left, right) {
        case (.tag(let text), .tag(let other)), (.date(let text), .date(let other)): text == other
        case (.tag, .date), (.date, .tag): false
        }
    }

    func hash(into hasher: inout Hasher) { hasher.combine(bytesOf: condition) }

    /// Whether it is a strong tag. The cache accepts spaces in one, but bytes are joined only by what is certain.
    private static func isStrong(_ tag: String) -> Bool {
        EntityTag(field: tag)?.isWeak == false && !tag.utf8.contains(UInt8(ascii: " "))
    }

    private static func dates(_ first: String, _ second: String) -> (Date, Date)? {
        // Only for years of two digits, which these dates need not have.
        let now = Date(timeIntervalSince1970: 1_700_000_000)
        guard let first = HTTPDate.parse(first, now: now), let second = HTTPDate.parse(second, now: now) else {
            return nil
        }
        return (first, second)
    }
}

extension HTTPHeaders {
    /// The value of the fields with that name; `nil` if there is none, or if they differ.
    fileprivate func only(_ name: String) -> String? {
        let values = values(name)
        guard let first = values.first, values.allSatisfy({ $0 == first }) else { return nil }
        return first
    }
}
