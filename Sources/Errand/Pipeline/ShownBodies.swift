#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Shows the beginnings of bodies in events, redacted.
struct ShownBodies: Sendable {
    /// The size limit of a form, 64 KiB: only as a whole can its values be told from their names.
    private static let largestForm = 64 << 10
    /// More would fill any log.
    private static let longest = 1 << 20

    /// The number of characters of a body that are shown.
    private let length: Int
    private let names: SecretNames

    /// Creates what shows that many characters; `nil` for none.
    init?(_ length: Int, _ names: SecretNames) {
        guard length > 0 else { return nil }
        (self.length, self.names) = (min(length, Self.longest), names)
    }

    /// Returns a body that a transmission has sent or received; `nil` if there is none.
    func text(of body: HTTPBody?, _ headers: HTTPHeaders, of transmission: Transmission) -> String? {
        guard let body, body.length != 0 else { return nil }
        let type = MediaType(headers["Content-Type"] ?? "")
        guard let bytes = body.bytes, type.isShown else {
            let size = body.length.map { "\($0) bytes" } ?? "a stream"
            return "‹\(size)\(type.name.isEmpty ? "" : " of \(type.name)")›".printable
        }
        let redactor = transmission.redactor(names)
        guard type.isNamed("application/x-www-form-urlencoded") else {
            let (text, isCut) = redactor.beginning(of: bytes, length: length)
            return isCut ? "\(text)…" : text
        }
        guard bytes.count <= Self.largestForm else { return "‹a form of \(bytes.count) bytes›" }
        let text = redactor.text(ofQuery: String(decoding: bytes, as: UTF8.self)).unicodeScalars
        return text.count > length ? "\(String(text.prefix(length)))…" : String(text)
    }
}

extension MediaType {
    /// Whether it is JSON or a form, in which secrets are told by their names, or not known.
    fileprivate var isShown: Bool {
        isJSON || name.isEmpty || isNamed("application/x-www-form-urlencoded")
    }
}
