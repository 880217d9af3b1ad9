#if os(Linux)
import CCurl

/// The head of a response: a status and header fields.
struct CurlHead {
    var status: Int
    var headers: HTTPHeaders

    /// Whether another head follows (1xx).
    var isInterim: Bool { status < 200 }

    /// Reads the lines that have come.
    init?(_ lines: ccurl_head_lines) {
        self.init(UnsafeBufferPointer(start: lines.bytes, count: lines.length))
    }

    /// Reads the head; `nil` if its first line is not a status line of HTTP.
    init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        var fields: [HTTPHeaders.Field] = []
        fields.reserveCapacity(12)
        var status: Int?
        var rest = bytes[...]
        while !rest.isEmpty {
            var line = rest.prefix { $0 != UInt8(ascii: "\n") }
            rest = rest[line.endIndex...].dropFirst()
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            guard let first = line.first else { continue }
            if status == nil {
                guard let code = Self.status(line) else { return nil }
                status = code
            } else if first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") {
                // A folded line continues the value before it.
                guard let last = fields.indices.last else { continue }
                fields[last].value += " " + Self.text(line.trimmingSpaces)
            } else if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
                let name = Self.text(line[..<colon].trimmingSpaces)
                guard !name.isEmpty else { continue }
                fields.append(HTTPHeaders.Field(name: name, value: Self.text(line[(colon + 1)...].trimmingSpaces)))
            }
        }
        guard let status else { return nil }
        self.status = status
        headers = HTTPHeaders(fields)
    }

    /// `HTTP/1.1 200 OK`, `HTTP/2 200`.
    private static func status(_ line: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
        guard line.starts(with: "HTTP/".utf8), let space = line.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        let digits = line[(space + 1)...].prefix { $0 != UInt8(ascii: " ") }
        guard digits.count == 3, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let code = digits.reduce(0) { $0 * 10 + Int($1) - 0x30 }
        // A status above 599 is a server error (RFC 9110, 15).
        return code >= 100 ? code : nil
    }

    /// Decodes UTF-8 or, if that fails, Latin-1, which never does. A carriage return, which ends no line by itself,
    /// becomes a space (RFC 9112, 2.2).
    /// Names and values that many servers send, by their length. A string of up to 15 bytes needs no memory of its own.
    private static let wellKnown: [[String]] = {
        let texts = [
            "Access-Control-Allow-Credentials", "access-control-allow-credentials", "Access-Control-Allow-Origin",
            "access-control-allow-origin", "Content-Encoding", "content-encoding", "Content-Security-Policy",
            "content-security-policy", "Strict-Transport-Security", "strict-transport-security", "Transfer-Encoding",
            "transfer-encoding", "X-Content-Type-Options", "x-content-type-options", "X-RateLimit-Limit",
            "x-ratelimit-limit", "X-RateLimit-Remaining", "x-ratelimit-remaining", "X-XSS-Protection",
            "x-xss-protection", "application/json", "application/json; charset=utf-8",
            "application/json; charset=UTF-8", "application/json;charset=utf-8", "application/json;charset=UTF-8",
            "max-age=31536000; includeSubDomains", "no-cache, no-store, must-revalidate", "no-store, no-cache",
        ]
        let longest = texts.map(\.utf8.count).max() ?? 0
        return (0...longest).map { count in texts.filter { $0.utf8.count == count } }
    }()

    private static func wellKnown(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> String? {
        guard wellKnown.indices.contains(bytes.count) else { return nil }
        return wellKnown[bytes.count].first { text in
            text.utf8.withContiguousStorageIfAvailable { $0.elementsEqual(bytes) } ?? false
        }
    }

    private static func text(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> String {
        if let known = wellKnown(bytes) { return known }
        // Nearly all values are ASCII, for which this is faster.
        if bytes.allSatisfy({ $0 < 0x80 && $0 != UInt8(ascii: "\r") }) {
            return String(decoding: UnsafeBufferPointer(rebasing: bytes), as: UTF8.self)
        }
        let bytes = bytes.map { $0 == UInt8(ascii: "\r") ? UInt8(ascii: " ") : $0 }
        return String(validating: bytes, as: UTF8.self)
            ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
}

extension Slice where Base == UnsafeBufferPointer<UInt8> {
    /// Without spaces, tabs and carriage returns, which count as spaces, at either end.
    fileprivate var trimmingSpaces: Self {
        var slice = self
        while let first = slice.first, Self.isSpace(first) { slice = slice.dropFirst() }
        while let last = slice.last, Self.isSpace(last) { slice = slice.dropLast() }
        return slice
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
}
#endif
