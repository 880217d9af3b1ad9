#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What the headers of a response say about when to come back.
///
/// `Retry-After` on a 429 or 503 wins. Otherwise a quota that is used up (`RateLimit`, `RateLimit-*`, `X-RateLimit-*`)
/// asks to wait for its reset; of several policies the one with the longest wait holds. A malformed value says nothing.
struct RetryAfterHeaders {
    /// The lengths of the names that are read, a bit each.
    private static let lengths: UInt64 = [
        "retry-after", "ratelimit", "ratelimit-remaining", "ratelimit-reset", "x-ratelimit-remaining",
        "x-ratelimit-reset",
    ].reduce(0) { $0 | 1 << $1.utf8.count }

    /// A hundred years. No server means more, and an `Instant` can still be advanced by it: so a wait reads the same
    /// wherever it is shown, added or compared.
    private static let longestWait: Int64 = 3_155_760_000

    /// How long nobody should send; `nil` if the headers ask for no pause.
    let pause: Duration?
    /// The longest wait that the headers ask for beyond the ceiling, and that was ignored.
    let ignored: Duration?

    /// Reads the headers. A wait longer than `ceiling` counts as if it had not been asked for.
    init(of response: HTTPResponse, date: Date, ceiling: Duration) {
        let sources = Self.waits(askedBy: response, date: date)
        pause = sources.lazy.compactMap { $0.filter { $0 <= ceiling }.max() }.first
        ignored = sources.joined().filter { $0 > ceiling }.max()
    }

    /// Whether there can be any: most responses have no header of a length that could matter, and nothing is compared.
    static func canBe(in headers: HTTPHeaders) -> Bool {
        headers.fields.contains { lengths & 1 << $0.name.utf8.count != 0 }
    }

    /// How long nobody should send, whatever the headers ask for; `nil` if they ask for no pause.
    static func pause(after response: HTTPResponse, date: Date) -> Duration? {
        RetryAfterHeaders(of: response, date: date, ceiling: .seconds(longestWait)).pause
    }

    /// `Retry-After` as seconds or as a date; a date in the past is no wait at all.
    static func retryAfter(in headers: HTTPHeaders, date: Date) -> Duration? {
        guard let text = headers["Retry-After"]?.trimmed else { return nil }
        if let number = wholeNumber(text) { return wait(number, date: date) }
        return HTTPDate.parse(text, now: date).map { wait(until: $0.timeIntervalSince1970, date: date) }
    }

    /// The waits that the headers ask for, by the kind of header; the first kind that has any wins.
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

    /// The resets of the policies that are used up.
    ///
    /// Reads the list of the present draft (`"burst";r=0;t=1, "day";r=0;t=3600`) and the dictionary of the drafts
    /// before it (`limit=100, remaining=0, reset=30`). A member that is neither is passed over, and the others hold.
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
                // A named policy that lacks a number does not take it from another one.
                dictionary.merge(numbers) { $1 }
            }
        }
        return resets + (reset(from: dictionary).map { [$0] } ?? [])
    }

    private static func reset(from numbers: [Substring: Int64]) -> Int64? {
        (numbers["r"] ?? numbers["remaining"]) == 0 ? numbers["t"] ?? numbers["reset"] : nil
    }

    /// The resets of `X-RateLimit-Remaining: 0` with `X-RateLimit-Reset`; where there are several, in the same order.
    private static func resets(in headers: HTTPHeaders, prefix: String) -> [Int64] {
        func numbers(_ name: String) -> [Int64?] {
            headers.values("\(prefix)-\(name)").flatMap { $0.split(separator: ",") }
                .map { wholeNumber(String($0).trimmed) }
        }
        return zip(numbers("remaining"), numbers("reset")).compactMap { $0 == 0 ? $1 : nil }
    }

    /// A number of seconds; or a moment, as seconds or milliseconds since 1970, which some servers write where the
    /// number of seconds belongs.
    private static func wait(_ number: Int64, date: Date) -> Duration {
        // No quota lasts thirty years, and no such moment lies before 2001.
        guard number >= 1_000_000_000 else { return .seconds(number) }
        // Nor after the year 5000: then it is in milliseconds.
        return wait(until: number < 100_000_000_000 ? Double(number) : Double(number) / 1000, date: date)
    }

    /// The wait until a moment, in seconds since 1970. The server's dates have whole seconds: a wait that is rounded
    /// down would end a moment too soon.
    private static func wait(until moment: Double, date: Date) -> Duration {
        let seconds = (moment - date.timeIntervalSince1970).rounded(.up)
        // A clock may be set to anything: what is compared first can be converted.
        guard seconds > 0 else { return .zero }
        return .seconds(seconds < Double(longestWait) ? Int64(seconds) : longestWait)
    }

    /// Digits only: no sign, no fraction. A number too large to hold is the largest.
    private static func wholeNumber(_ text: String) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(text) ?? .max
    }
}

extension HTTPResponse {
    /// Whether the server refused the request because there were too many: 429, and the 403 of servers that say so by
    /// its headers, as GitHub does.
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
    /// The parts between those separators that do not stand in a quoted string, without spaces and tabs at the ends.
    fileprivate func pieces(separatedBy separator: UInt8) -> [String] {
        var pieces: [String] = []
        var (start, index) = (utf8.startIndex, utf8.startIndex)
        var isQuoted = false
        while index < utf8.endIndex {
            switch utf8[index] {
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: "\\") where isQuoted:
                // What is escaped ends nothing.
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
    /// Without spaces and tabs at the ends.
    var trimmed: String {
        var bytes = utf8[...]
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        return String(Substring(bytes))
    }
}
