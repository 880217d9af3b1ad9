/// The directives of the `Cache-Control` fields of a request or a response, in their strictest reading (K14).
///
/// - Of a directive that repeats, the smallest number counts.
/// - Restrictions hold, whatever their argument: `no-cache="Set-Cookie"` is `no-cache`, and `private=""` is `private`.
/// - Numbers that are malformed are zero: then a response is stale, and nothing may be served stale.
/// - In an element that breaks the syntax, such as `max-age = 5`, `no-store; max-age=5` or an open quotation mark,
///   every word counts as a directive without a valid argument. So no restriction is lost, and nothing is granted.
/// - Too many directives or words are `no-store`.
struct CacheControl: Sendable, Equatable {
    private(set) var noStore = false
    private(set) var noCache = false
    private(set) var mustRevalidate = false
    private(set) var mustUnderstand = false
    private(set) var onlyIfCached = false
    /// Whether the response says that it may be stored, without a lifetime.
    private(set) var isForStoring = false
    /// In seconds, like all numbers here; `nil` where a directive is missing.
    private(set) var maxAge: Int64?
    private(set) var minFresh: Int64?
    private(set) var maxStale: Int64?
    private(set) var staleWhileRevalidate: Int64?
    private(set) var staleIfError: Int64?

    /// Creates directives from the values of all fields, in order.
    init(_ values: [String]) {
        guard let elements = FieldParser.elements(of: values) else {
            noStore = true
            return
        }
        var words = 0
        for element in elements { read(element, &words) }
    }

    /// Whether the request restricts which stored responses it accepts.
    var isDemanding: Bool { noCache || maxAge != nil || minFresh != nil }

    private mutating func read(_ element: Substring, _ words: inout Int) {
        var parser = FieldParser(element)
        guard let name = parser.token() else { return readBroken(element, &words) }
        guard !parser.isAtEnd else { return apply(name.lowercased(), .missing) }
        guard parser.skip(UInt8(ascii: "=")), let argument = parser.argument(), parser.isAtEnd else {
            return readBroken(element, &words)
        }
        apply(name.lowercased(), FieldParser.wholeNumber(argument).map(Argument.number) ?? .malformed)
    }

    private mutating func readBroken(_ element: Substring, _ words: inout Int) {
        var parser = FieldParser(element)
        while true {
            parser.skip { !HTTPSyntax.isTokenByte($0) }
            guard let word = parser.token() else { return }
            words += 1
            guard words <= FieldParser.mostElements else {
                noStore = true
                return
            }
            apply(word.lowercased(), .malformed)
        }
    }

    private enum Argument {
        case missing, malformed
        case number(Int64)

        /// The number; what is no number grants nothing.
        var granted: Int64 { if case .number(let number) = self { number } else { 0 } }
    }

    private mutating func apply(_ name: String, _ argument: Argument) {
        switch name {
        case "no-store": noStore = true
        case "no-cache": noCache = true
        case "must-revalidate": mustRevalidate = true
        case "must-understand": mustUnderstand = true
        case "only-if-cached": onlyIfCached = true
        case "public", "private": isForStoring = true
        case "max-age": Self.lower(&maxAge, to: argument.granted)
        case "stale-while-revalidate": Self.lower(&staleWhileRevalidate, to: argument.granted)
        case "stale-if-error": Self.lower(&staleIfError, to: argument.granted)
        case "max-stale":
            if case .missing = argument {
                Self.lower(&maxStale, to: .max)
            } else {
                Self.lower(&maxStale, to: argument.granted)
            }
        case "min-fresh":
            // The greatest is the strictest here.
            if case .number(let seconds) = argument { minFresh = max(minFresh ?? 0, seconds) } else { minFresh = .max }
        default: break
        }
    }

    private static func lower(_ seconds: inout Int64?, to limit: Int64) {
        seconds = min(seconds ?? .max, limit)
    }
}

extension FieldParser {
    /// Reads a token or a quoted string that is closed; `nil` if neither follows.
    fileprivate mutating func argument() -> String? {
        guard skip(UInt8(ascii: "\"")) else { return token().map(String.init) }
        var bytes: [UInt8] = []
        while let byte = pop() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = pop() else { return nil }
                bytes.append(escaped)
            default: bytes.append(byte)
            }
        }
        return nil
    }
}
