#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What the headers of an answer say about when to come back.
///
/// `Retry-After` on a 429 or 503 wins. Otherwise a quota that is used up (`RateLimit`, `X-RateLimit-*`) asks to wait
/// for its reset. What is malformed says nothing.
struct ServerPacing {
    private static let names: Set<Int> = Set(
        [
            "retry-after", "ratelimit", "ratelimit-remaining", "ratelimit-reset", "x-ratelimit-remaining",
            "x-ratelimit-reset",
        ]
        .map(\.utf8.count))

    /// How long nobody should send; `nil` if the headers do not ask for a pause.
    static func pause(after response: HTTPResponse, date: Date) -> Duration? {
        // Most answers have no header of a length that could matter: then nothing is compared.
        guard response.headers.fields.contains(where: { names.contains($0.name.utf8.count) }) else { return nil }
        if response.status == 429 || response.status == 503,
            let wait = retryAfter(in: response.headers, date: date)
        {
            return wait
        }
        return structuredPause(response.headers) ?? pairedPause(response.headers, prefix: "ratelimit", date: date)
            ?? pairedPause(response.headers, prefix: "x-ratelimit", date: date)
    }

    /// `Retry-After` as seconds or as a date; a date in the past is no wait at all.
    static func retryAfter(in headers: HTTPHeaders, date: Date) -> Duration? {
        guard let text = headers["Retry-After"]?.trimmed else { return nil }
        if let number = wholeNumber(text) { return wait(number, date: date) }
        guard let moment = HTTPDate.parse(text, now: date) else { return nil }
        // The server's dates have whole seconds: a rounded-down wait would come a moment too soon.
        return .seconds(max(0, moment.timeIntervalSince(date).rounded(.up)))
    }

    /// `RateLimit: "default";r=0;t=30`, and the older `RateLimit: limit=100, remaining=0, reset=30`.
    private static func structuredPause(_ headers: HTTPHeaders) -> Duration? {
        for value in headers.values("RateLimit") {
            for policy in value.contains(";") ? value.split(separator: ",") : [Substring(value)] {
                var numbers: [Substring: Int64] = [:]
                for part in policy.split(whereSeparator: { $0 == ";" || $0 == "," }) {
                    let pair = part.split(separator: "=", maxSplits: 1)
                    guard pair.count == 2, let number = wholeNumber(String(pair[1]).trimmed) else { continue }
                    numbers[Substring(String(pair[0]).trimmed)] = number
                }
                guard (numbers["r"] ?? numbers["remaining"]) == 0, let reset = numbers["t"] ?? numbers["reset"] else {
                    continue
                }
                return .seconds(min(reset, 100_000_000_000))
            }
        }
        return nil
    }

    /// `X-RateLimit-Remaining: 0` with `X-RateLimit-Reset`, which is a number of seconds, or a moment as seconds or
    /// milliseconds since 1970.
    private static func pairedPause(_ headers: HTTPHeaders, prefix: String, date: Date) -> Duration? {
        guard let remaining = headers["\(prefix)-remaining"], wholeNumber(remaining.trimmed) == 0,
            let text = headers["\(prefix)-reset"], let reset = wholeNumber(text.trimmed)
        else { return nil }
        return wait(reset, date: date)
    }

    /// A number of seconds; or a moment, as seconds or milliseconds since 1970, which some servers write where the
    /// number of seconds belongs.
    private static func wait(_ number: Int64, date: Date) -> Duration {
        // No quota lasts thirty years, and no such moment lies before 2001.
        guard number >= 1_000_000_000 else { return .seconds(number) }
        // Nor after the year 5000: then it is in milliseconds.
        let moment = number < 100_000_000_000 ? Double(number) : Double(number) / 1000
        // Three thousand years are for ever, and can still be added to any date.
        return .seconds(min(max(0, (moment - date.timeIntervalSince1970).rounded(.up)), 100_000_000_000))
    }

    /// Digits only: no sign, no fraction. A number too large to hold is the largest.
    private static func wholeNumber(_ text: String) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(text) ?? .max
    }
}

extension String {
    /// Without spaces and tabs at the ends.
    var trimmed: String {
        var bytes = utf8[...]
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        return String(Substring(bytes))
    }
}
