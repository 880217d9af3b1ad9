#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The secrets that a request carries: a server that repeats them in an answer must not bring them into an error.
///
/// They are gathered only when a call fails.
struct SentSecrets {
    /// A larger body is no login.
    private static let largestBody = 64 << 10
    /// What is shorter would take ordinary words out of a message. The parts of a value are guesses, so they have to
    /// be longer.
    private static let shortest = (whole: 4, part: 8)

    private let redactor: Redactor
    private(set) var texts: Set<String> = []

    init(of request: HTTPRequest, by redactor: Redactor) {
        self.redactor = redactor
        for field in request.headers.fields where redactor.isSecret(header: field.name) {
            add(field.value)
            // `Basic abc` is repeated as `abc`, `sid=abc; a=b` likewise.
            for part in field.value.split(whereSeparator: { " ;,=".contains($0) })
            where part.utf8.count >= Self.shortest.part { add(String(part)) }
            add(basic: field.value)
        }
        if let query = request.url.query { add(query: query) }
        guard let body = request.body?.bytes, body.count <= Self.largestBody else { return }
        let text = String(decoding: body, as: UTF8.self)
        guard request.headers["Content-Type"]?.hasPrefix("application/x-www-form-urlencoded") != true else {
            add(query: text)
            return
        }
        for range in JSONMembers.values(in: text, where: redactor.isSecret(member:)) { add(json: text[range]) }
    }

    private mutating func add(_ text: String) {
        if text.utf8.count >= Self.shortest.whole { texts.insert(text) }
    }

    /// The password in `Basic abc`, as it was encoded and as it is meant (RFC 6749, 2.3.1).
    private mutating func add(basic value: String) {
        guard value.prefix(6).lowercased() == "basic ", let pair = Data(base64Encoded: String(value.dropFirst(6))),
            let colon = pair.firstIndex(of: UInt8(ascii: ":"))
        else { return }
        let password = String(decoding: pair[pair.index(after: colon)...], as: UTF8.self)
        add(password)
        add(PercentEncoding.decode(password))
    }

    private mutating func add(query: String) {
        for pair in query.split(separator: "&") {
            guard let equals = pair.firstIndex(of: "=") else { continue }
            let value = pair[pair.index(after: equals)...]
            guard redactor.isSecret(query: PercentEncoding.decode(pair[..<equals])) else { continue }
            add(String(value))
            add(PercentEncoding.decode(value))
        }
    }

    /// A text both as it was written and as it is read; of lists and objects each text in them.
    private mutating func add(json value: Substring) {
        if value.first == "\"" {
            add(String(value.dropFirst().dropLast()))
            // A string that is broken has no other form in which it could be repeated.
            if let text = try? JSONDecoder().decode(String.self, from: Data(value.utf8)) { add(text) }
            return
        }
        guard value.first == "[" || value.first == "{" else { return add(String(value)) }
        let texts = value.split(separator: "\"").filter { $0.utf8.count >= Self.shortest.part }
        for text in texts { add(String(text)) }
    }
}
