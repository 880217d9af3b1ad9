#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The pause that the headers of a response ask for.
///
/// `Retry-After`, or the finer `Retry-After-Ms` of some large APIs, takes precedence on a 429, on a 503, or on a 403
/// that means a rate limit. Otherwise a quota that is used up (`RateLimit`, `RateLimit-*`, `X-RateLimit-*`) asks for a
/// pause until its reset; of several policies the longest pause counts. Malformed values are ignored.
struct RetryAfterHeaders {
    /// The lengths of the names that are read, one bit each.
    private static let lengths: UInt64 = [
        "retry-after", "retry-after-ms", "ratelimit", "ratelimit-remaining", "ratelimit-reset", "x-ratelimit-remaining",
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

    /// Returns whether the headers may ask for a pause: most responses have no header with a matching length and first
    /// letter, and then no name is compared.
    static func canBe(in headers: HTTPHeaders) -> Bool {
        headers.fields.contains { field in
            let name = field.name.utf8
            guard lengths & 1 << name.count != 0, let first = name.first else { return false }
            // `X-` comes before the `R` of some.
            return isR(first) || (first | 0x20 == UInt8(ascii: "x") && name.dropFirst(2).first.map(isR) ?? false)
        }
    }

    private static func isR(_ letter: UInt8) -> Bool { letter | 0x20 == UInt8(ascii: "r") }

    /// Returns how long to pause, however long that is; `nil` if the headers ask for no pause.
    static func pause(after response: HTTPResponse, date: Date) -> Duration? {
        RetryAfterHeaders(of: response, date: date, ceiling: .seconds(longestWait)).pause
    }

    /// Returns `Retry-After`, given in seconds, with decimals or without, or as a date; zero for a date in the past. In
    /// its place counts `Retry-After-Ms`, in milliseconds.
    static func retryAfter(in headers: HTTPHeaders, date: Date) -> Duration? {
        if let milliseconds = headers["Retry-After-Ms"].flatMap({ decimal($0.trimmed, of: 1_000_000) }) {
            return milliseconds
        }
        guard let text = headers["Retry-After"]?.trimmed else { return nil }
        func now() -> Date { serverDate(in: headers, ours: date) }
        if let number = FieldParser.wholeNumber(text) { return wait(number, date: now()) }
        if let seconds = decimal(text, of: 1_000_000_000) { return seconds }
        return HTTPDate.parse(text, now: date).map { wait(until: $0.timeIntervalSince1970, date: now()) }
    }

    /// Returns a number of units of so many nanoseconds each, with decimals or without; `nil` for anything else. A
    /// hundred years are the most.
    private static func decimal(_ text: String, of unit: Int64) -> Duration? {
        guard text.utf8.first.map(FieldParser.isDigit) ?? false else { return nil }
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = FieldParser.wholeNumber(parts[0]) else { return nil }
        let longest = Duration.seconds(longestWait)
        guard whole <= longestWait * (1_000_000_000 / unit) else { return longest }
        var wait = Duration.nanoseconds(unit) * whole
        guard parts.count == 2 else { return wait }
        guard FieldParser.wholeNumber(parts[1]) != nil else { return nil }
        var digit = unit
        for byte in parts[1].utf8.prefix(9) {
            digit /= 10
            wait += .nanoseconds(digit * Int64(byte - UInt8(ascii: "0")))
        }
        return min(wait, longest)
    }

    /// Returns what the server's clock shows, or ours if the response has no date.
    ///
    /// The dates in a response are by the clock that wrote them, and ours may be wrong by hours. `Age` is how long a
    /// cache has kept the response since then.
    private static func serverDate(in headers: HTTPHeaders, ours: Date) -> Date {
        guard let date = headers["Date"].flatMap({ HTTPDate.parse($0.trimmed, now: ours) }) else { return ours }
        return date.addingTimeInterval(Double(headers["Age"].flatMap { FieldParser.wholeNumber($0.trimmed) } ?? 0))
    }

    /// Returns the waits that the headers ask for, by the kind of header; the first kind that has any counts.
    private static func waits(askedBy response: HTTPResponse, date: Date) -> [[Duration]] {
        let headers = response.headers
        guard canBe(in: headers) else { return [] }
        let retryAfter = response.isThrottled || response.status == 503 ? retryAfter(in: headers, date: date) : nil
        let resets = [
            resets(ofPolicies: headers.values("RateLimit")), resets(in: headers), oldResets(in: headers),
        ]
        return [retryAfter.map { [$0] } ?? []]
            + resets.map { $0.map { wait($0, date: serverDate(in: headers, ours: date)) } }
    }

    /// Returns the resets of the policies that are used up.
    ///
    /// Reads the list of the current draft (`"burst";r=0;t=1, "day";r=0;t=3600`) and the dictionary of earlier drafts
    /// (`limit=100, remaining=0, reset=30`). A policy without such numbers is skipped; the others count.
    private static func resets(ofPolicies fields: [String]) -> [Int64] {
        var dictionary: [String: Int64] = [:]
        var resets: [Int64] = []
        for member in StructuredField.list(fields) ?? StructuredField.dictionary(fields) ?? [] {
            var numbers = member.parameters.compactMapValues(\.count)
            if let key = member.key { numbers[key] = member.value.count }
            if let reset = reset(from: numbers) {
                resets.append(reset)
            } else if member.key != nil {
                dictionary.merge(numbers) { $1 }
            }
        }
        return resets + (reset(from: dictionary).map { [$0] } ?? [])
    }

    private static func reset(from numbers: [String: Int64]) -> Int64? {
        (numbers["r"] ?? numbers["remaining"]) == 0 ? numbers["t"] ?? numbers["reset"] : nil
    }

    /// Returns the resets of `RateLimit-Remaining: 0` with `RateLimit-Reset`, which earlier drafts have.
    private static func resets(in headers: HTTPHeaders) -> [Int64] {
        func numbers(_ name: String) -> [Int64?] {
            (StructuredField.list(headers.values("RateLimit-\(name)")) ?? []).map(\.value.count)
        }
        return resets(numbers("Remaining"), numbers("Reset"))
    }

    /// Returns the resets of `X-RateLimit-Remaining: 0` with `X-RateLimit-Reset`, which no standard describes.
    private static func oldResets(in headers: HTTPHeaders) -> [Int64] {
        func numbers(_ name: String) -> [Int64?] {
            (FieldParser.elements(of: headers.values("X-RateLimit-\(name)")) ?? []).map(FieldParser.wholeNumber)
        }
        return resets(numbers("Remaining"), numbers("Reset"))
    }

    /// Several values correspond by their order.
    private static func resets(_ remaining: [Int64?], _ resets: [Int64?]) -> [Int64] {
        zip(remaining, resets).compactMap { $0 == 0 ? $1 : nil }
    }

    /// Returns the wait for a number of seconds, or for a date in seconds or milliseconds since 1970, which some
    /// servers send instead.
    private static func wait(_ number: Int64, date: @autoclosure () -> Date) -> Duration {
        // No quota lasts thirty years, and no such date is before 2001.
        guard number >= 1_000_000_000 else { return .seconds(number) }
        // Nor after the year 5000: then it is in milliseconds.
        return wait(until: number < 100_000_000_000 ? Double(number) : Double(number) / 1000, date: date())
    }

    /// Returns the wait until a date in seconds since 1970. The server's dates have whole seconds: a wait that is
    /// rounded down would end too early.
    private static func wait(until moment: Double, date: Date) -> Duration {
        let seconds = (moment - date.timeIntervalSince1970).rounded(.up)
        // The clock may show any date: a value is compared before it is converted.
        guard seconds > 0 else { return .zero }
        return .seconds(seconds < Double(longestWait) ? Int64(seconds) : longestWait)
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
                && (headers["Retry-After"] != nil || headers["Retry-After-Ms"] != nil
                    || headers["X-RateLimit-Remaining"]?.trimmed == "0")
        default: false
        }
    }
}

extension HTTPHeaders {
    /// Whether the server says that the request should be sent again, as some large APIs do; `nil` if it says nothing.
    var asksForRetry: Bool? {
        switch self["x-should-retry"]?.trimmed.lowercased() {
        case "true": true
        case "false": false
        default: nil
        }
    }
}

extension StructuredField.Value {
    /// A number of requests or of seconds; `nil` for anything else.
    fileprivate var count: Int64? {
        if case .integer(let number) = self, number >= 0 { number } else { nil }
    }
}
