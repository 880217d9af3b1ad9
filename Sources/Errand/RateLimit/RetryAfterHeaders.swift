#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The pause that the headers of a response ask for.
///
/// `Retry-After` on a 429, on a 503, or on a 403 that means a rate limit takes precedence. Otherwise a quota that is
/// used up (`RateLimit`, `RateLimit-*`, `X-RateLimit-*`) asks for a pause until its reset; of several policies the
/// longest pause counts. Malformed values are ignored.
struct RetryAfterHeaders {
    /// The lengths of the names that are read, one bit each.
    private static let lengths: UInt64 = [
        "retry-after", "ratelimit", "ratelimit-remaining", "ratelimit-reset", "x-ratelimit-remaining",
        "x-ratelimit-reset",
    ].reduce(0) { $0 | 1 << $1.utf8.count }

    /// A hundred years. No server means more, and an `Instant` can still be advanced by it: so a wait has the same
    /// value wherever it is shown, added or compared.
    private static let longestWait: Int64 = 3_155_760_000

    /// How long to pause; `nil` if the headers ask for no pause.
    let pause: Duration?
    /// The longest wait above the ceiling, which is ignored; `nil` if there is none.
    let ignored: Duration?

    /// Reads the headers. A wait longer than `ceiling` is ignored.
    init(of response: HTTPResponse, date: Date, ceiling: Duration) {
        let sources = Self.waits(askedBy: response, date: date)
        pause = sources.lazy.compactMap { $0.filter { $0 <= ceiling }.max() }.first
        ignored = sources.joined().filter { $0 > ceiling }.max()
    }

    /// Returns whether the headers may ask for a pause: most responses have no header with a matching length, and then
    /// no name is compared.
    static func canBe(in headers: HTTPHeaders) -> Bool {
        headers.fields.contains { lengths & 1 << $0.name.utf8.count != 0 }
    }

    /// Returns how long to pause, however long that is; `nil` if the headers ask for no pause.
    static func pause(after response: HTTPResponse, date: Date) -> Duration? {
        RetryAfterHeaders(of: response, date: date, ceiling: .seconds(longestWait)).pause
    }

    /// Returns `Retry-After`, given in seconds or as a date; zero for a date in the past.
    static func retryAfter(in headers: HTTPHeaders, date: Date) -> Duration? {
        guard let text = headers["Retry-After"]?.trimmed else { return nil }
        if let number = wholeNumber(text) { return wait(number, date: date) }
        return HTTPDate.parse(text, now: date).map { wait(until: $0.timeIntervalSince1970, date: date) }
    }

    /// Returns the waits that the headers ask for, by the kind of header; the first kind that has any counts.
    private static func waits(askedBy response: HTTPResponse, date: Date) -> [[Duration]] {
        let headers = response.headers
        guard canBe(in: headers) else { return [] }
        let retryAfter = response.isThrottled || response.status == 503 ? retryAfter(in: headers, date: date) : nil
        let resets = [
            headers.values("RateLimit").flatMap(resets(ofPolicies:)), resets(in: headers, prefix: "ratelimit"),
            resets(in: headers, prefix: "x-ratelimit"),
        ]
        return [retryAfter.map { [$0] } ?? []] + resets.map { $0.map { wait($0, date: date) } }
    }

    /// Returns the resets of the policies that are used up.
    ///
    /// Reads the list of the current draft (`"burst";r=0;t=1, "day";r=0;t=3600`) and the dictionary of earlier drafts
    /// (`limit=100, remaining=0, reset=30`). A member that is neither is skipped; the others count.
    private static func resets(ofPolicies field: String) -> [Int64] {
        var dictionary: [Substring: Int64] = [:]
        var resets: [Int64] = []
        for member in field.pieces(separatedBy: UInt8(ascii: ",")) {
            var numbers: [Substring: Int64] = [:]
            let parts = member.pieces(separatedBy: UInt8(ascii: ";"))
            for part in parts {
                let pair = part.split(separator: "=", maxSplits: 1)
                guard pair.count == 2, let number = wholeNumber(String(pair[1]).trimmed) else { continue }
                numbers[Substring(String(pair[0]).trimmed)] = number
            }
            if let reset = reset(from: numbers) {
                resets.append(reset)
            } else if let first = parts.first, first.first != "\"", first.contains("=") {
                // A named policy without a number does not take it from another policy.
                dictionary.merge(numbers) { $1 }
            }
        }
        return resets + (reset(from: dictionary).map { [$0] } ?? [])
    }

    private static func reset(from numbers: [Substring: Int64]) -> Int64? {
        (numbers["r"] ?? numbers["remaining"]) == 0 ? numbers["t"] ?? numbers["reset"] : nil
    }

    /// Returns the resets of `X-RateLimit-Remaining: 0` with `X-RateLimit-Reset`; several values correspond by their
    /// order.
    private static func resets(in headers: HTTPHeaders, prefix: String) -> [Int64] {
        func numbers(_ name: String) -> [Int64?] {
            headers.values("\(prefix)-\(name)").flatMap { $0.split(separator: ",") }
                .map { wholeNumber(String($0).trimmed) }
        }
        return zip(numbers("remaining"), numbers("reset")).compactMap { $0 == 0 ? $1 : nil }
    }

    /// Returns the wait for a number of seconds, or for a date in seconds or milliseconds since 1970, which some
    /// servers send instead.
    private static func wait(_ number: Int64, date: Date) -> Duration {
        // No quota lasts thirty years, and no such date is before 2001.
        guard number >= 1_000_000_000 else { return .seconds(number) }
        // Nor after the year 5000: then it is in milliseconds.
        return wait(until: number < 100_000_000_000 ? Double(number) : Double(number) / 1000, date: date)
    }

    /// Returns the wait until a date in seconds since 1970. The server's dates have whole seconds: a wait that is
    /// rounded down would end too early.
    private static func wait(until moment: Double, date: Date) -> Duration {
        let seconds = (moment - date.timeIntervalSince1970).rounded(.up)
        // The clock may show any date: a value is compared before it is converted.
        guard seconds > 0 else { return .zero }
        return .seconds(seconds < Double(longestWait) ? Int64(seconds) : longestWait)
    }

    /// Parses digits only, without a sign or a fraction. A number that is too large becomes the largest.
    private static func wholeNumber(_ text: String) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(text) ?? .max
    }
}

extension HTTPResponse {
    /// Whether the server refused the request because of a rate limit: with a 429, or with a 403 whose headers say so,
    /// as GitHub does.
    var isThrottled: Bool {
        switch status {
        case 429: true
        case 403:
            RetryAfterHeaders.canBe(in: headers)
                && (headers["Retry-After"] != nil || headers["X-RateLimit-Remaining"]?.trimmed == "0")
        default: false
        }
    }
}

extension StringProtocol {
    /// Returns the parts between separators outside quoted strings, without spaces and tabs at their ends.
    fileprivate func pieces(separatedBy separator: UInt8) -> [String] {
        var pieces: [String] = []
        var (start, index) = (utf8.startIndex, utf8.startIndex)
        var isQuoted = false
        while index < utf8.endIndex {
            switch utf8[index] {
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: "\\") where isQuoted:
                // An escaped character does not end the string.
                utf8.formIndex(after: &index)
                if index == utf8.endIndex { continue }
            case separator where !isQuoted:
                pieces.append(String(self[start..<index]).trimmed)
                start = utf8.index(after: index)
            default: break
            }
            utf8.formIndex(after: &index)
        }
        return pieces + [String(self[start..<index]).trimmed]
    }
}

extension String {
    /// The text without spaces and tabs at its ends.
    var trimmed: String {
        var bytes = utf8[...]
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        return String(Substring(bytes))
    }
}
