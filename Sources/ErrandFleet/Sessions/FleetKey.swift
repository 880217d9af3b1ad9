public import Errand
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A key that encrypts what a fleet keeps in its store: 256 bits, and a name by which nodes find it.
///
///     let key = try FleetKey(id: "2026-11", base64: secret)
///
/// All nodes of a fleet have the same keys. To replace one, give each node the new key as an old one first; when all
/// have it, make it the key with which they write, and the former an old one; remove that when every session was
/// written again. The description does not show the key.
public struct FleetKey: Sendable, Hashable {
    /// The name of the key, which is stored beside what it encrypts.
    public let id: String
    let bytes: [UInt8]

    /// Creates a key from its 32 bytes. The `id` has 1 to 64 letters, digits, `-`, `.` and `_`.
    public init(id: String, rawRepresentation: Data) throws(ServiceError) {
        guard rawRepresentation.count == AESGCM.keyLength else {
            throw .badSetting("a key of a fleet has \(AESGCM.keyLength) bytes, and not \(rawRepresentation.count)")
        }
        let isName = id.utf8.allSatisfy { $0 != UInt8(ascii: "/") } && (try? FleetRecordRules.check(id)) != nil
        guard isName, id.utf8.count <= 64 else {
            throw .badSetting(
                "the name of a key has 1 to 64 letters, digits, - . and _; \(id.debugDescription) has not")
        }
        self.id = id
        bytes = Array(rawRepresentation)
    }

    /// Creates a key from the Base64 of its 32 bytes, as `openssl rand -base64 32` prints it.
    public init(id: String, base64: String) throws(ServiceError) {
        let text = base64.filter { !$0.isWhitespace }
        guard let data = Data(base64Encoded: text) else {
            throw .badSetting("the text of a key is Base64; make one with: openssl rand -base64 32")
        }
        try self.init(id: id, rawRepresentation: data)
    }

    /// Creates a new key from the system's source of random numbers.
    public init(id: String) throws(ServiceError) {
        var random = SystemRandomNumberGenerator()
        let bytes = (0..<AESGCM.keyLength).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        try self.init(id: id, rawRepresentation: Data(bytes))
    }

    /// The key, as 32 bytes. Keep it like a password.
    public var rawRepresentation: Data { Data(bytes) }
}

extension FleetKey: OpaqueReflectable {
    /// The name of the key.
    public var description: String { "FleetKey(\(id))" }
}
