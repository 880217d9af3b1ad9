#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A server's announcement that a resource will not stay, from the headers `Deprecation` (RFC 9745) and `Sunset`
/// (RFC 8594).
public struct Deprecation: Sendable, Hashable {
    /// Since when it is deprecated, which may be in the future; `nil` if the server does not say.
    public let since: Date?
    /// When it is expected to be gone; `nil` if the server does not say.
    public let sunset: Date?
    /// A page about it, as the server has written its URL, without secrets and cut at 500 characters; `nil` if there is
    /// none.
    public private(set) var page: String?

    /// Reads the headers of a response, without the page; `nil` if they announce nothing.
    private init?(_ headers: HTTPHeaders, at now: Date) {
        let (deprecations, sunset) = (headers.values("Deprecation"), headers["Sunset"])
        func date(_ text: String?) -> Date? { text.flatMap { HTTPDate.parse($0, now: now) } }
        let item = StructuredField.item(deprecations)?.value
        since =
            if case .date(let seconds)? = item { Date(timeIntervalSince1970: Double(seconds)) } else {
                // Servers that follow an earlier draft send a date like others, or `true`.
                date(deprecations.first)
            }
        self.sunset = date(sunset)
        guard since != nil || self.sunset != nil || item == .token("true") || item == .boolean(true) else { return nil }
    }
}

extension Deprecation: CustomStringConvertible {
    /// The announcement in words.
    public var description: String {
        let dates = [
            since.map { "deprecated from \($0.formatted(.iso8601))" },
            sunset.map { "gone after \($0.formatted(.iso8601))" },
        ]
        let text = dates.compactMap(\.self).joined(separator: ", ")
        return (text.isEmpty ? "deprecated" : text) + (page.map { "; see \($0)" } ?? "")
    }
}

extension Deprecation {
    /// The endpoints that were announced, by numbers. A program with more than that many of them does not hear of the
    /// others.
    private static let announced = Lock<Set<Announced>>([])
    private static let mostAnnounced = 1000

    private struct Announced: Hashable {
        let server: Origin
        let endpoint: Int
    }

    /// Returns what a response announces; `nil` if it announces nothing, or if somebody in this process has been told
    /// about that endpoint of that server.
    static func news(
        in headers: HTTPHeaders, of endpoint: @autoclosure () -> Int, at server: Origin,
        on date: @autoclosure () -> Date, redactor: () -> Redactor
    ) -> Deprecation? {
        guard headers["Deprecation"] != nil || headers["Sunset"] != nil,
            var deprecation = Deprecation(headers, at: date())
        else { return nil }
        let place = Announced(server: server, endpoint: endpoint())
        guard announced.withLock({ $0.count < mostAnnounced && $0.insert(place).inserted }) else { return nil }
        if let link = headers.links.first(where: { $0.has("deprecation") || $0.has("sunset") }) {
            let redactor = redactor()
            deprecation.page = redactor.beginning(of: redactor.text(ofURL: link.target).utf8, length: 500).text
        }
        return deprecation
    }
}
