#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The secrets that a request carries. A server may repeat them in a response, and then no error must show them.
///
/// They are collected only when a call fails, as they were sent: the ``Redactor`` finds them in other forms too.
struct SentSecrets {
    /// The size limit, 64 KiB: a larger body is not a sign-in.
    private static let largestBody = 64 << 10
    /// The shortest secret, in bytes: shorter ones would remove ordinary words from a message. The parts of a value are
    /// guesses, so they have to be longer.
    private static let shortest = (whole: 4, part: 8)

    private let names: SecretNames
    private(set) var texts: Set<String> = []

    init(of request: HTTPRequest, by names: SecretNames) {
        self.names = names
        for field in request.headers where field.isSecret || names.contains(field.name, in: .header) {
            add(field.value)
            // A server may repeat only `abc` of `Basic abc`, or of `sid=abc; a=b`.
            for part in field.value.utf8.split(whereSeparator: { " ;,=".utf8.contains($0) })
            where part.count >= Self.shortest.part { add(String(Substring(part))) }
            add(basic: field.value)
        }
        if let query = request.url.query { addValues(in: query, isQuery: true) }
        for field in request.body?.source?.fields ?? []
        where field.value.count <= Self.largestBody && names.contains(field.name, in: .parameter) {
            add(String(decoding: field.value, as: UTF8.self))
            // The part may be JSON, a text or a list of them.
            addValue(Array(field.value)[...])
        }
        for document in request.body?.source?.documents ?? [] where document.count <= Self.largestBody {
            addValues(in: String(decoding: document, as: UTF8.self), isQuery: false)
        }
        guard let body = request.body?.bytes, body.count <= Self.largestBody else { return }
        let type = request.headers["Content-Type"]?.lowercased() ?? ""
        let isForm = type.hasPrefix("application/x-www-form-urlencoded")
        addValues(in: String(decoding: body, as: UTF8.self), isQuery: isForm)
    }

    private mutating func add(_ text: String) {
        guard text.utf8.count >= Self.shortest.whole, !["true", "false", "null"].contains(text) else { return }
        texts.insert(text)
    }

    /// Adds the credentials in `Basic abc`: the encoded pair, and the password decoded (RFC 6749, 2.3.1).
    private mutating func add(basic value: String) {
        let encoded = String(Substring(value.utf8.dropFirst(6)))
        guard Substring(value.utf8.prefix(6)).lowercased() == "basic ", let pair = Data(base64Encoded: encoded),
            let colon = pair.firstIndex(of: UInt8(ascii: ":"))
        else { return }
        add(encoded)
        add(String(decoding: pair[pair.index(after: colon)...], as: UTF8.self))
    }

    /// Adds the secret values in a query, a form or JSON. For lists and objects it adds each text in them.
    private mutating func addValues(in text: String, isQuery: Bool) {
        let bytes = Array(text.utf8)
        for range in NamedSecrets(names: names, bytes: bytes, isQuery: isQuery).ranges() {
            if isQuery {
                add(String(decoding: bytes[range], as: UTF8.self).trimmed)
            } else {
                addValue(bytes[range])
            }
        }
    }

    /// Adds a value of JSON or of prose.
    private mutating func addValue(_ value: ArraySlice<UInt8>) {
        switch value.first {
        case UInt8(ascii: "\""): add(String(decoding: value.dropFirst().dropLast(), as: UTF8.self))
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            for part in value.split(separator: UInt8(ascii: "\"")) where part.count >= Self.shortest.part {
                add(String(decoding: part, as: UTF8.self))
            }
        default: add(String(decoding: value, as: UTF8.self).trimmed)
        }
    }
}
