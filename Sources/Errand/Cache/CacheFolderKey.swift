#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The key of a folder, which all processes that share the folder have. Files are named by hashes with it, so their
/// names say nothing to anybody who cannot read the folder.
struct CacheFolderKey: Sendable {
    private static let magic = Array("ERRANDK1".utf8)
    private static let length = 32

    private let bytes: [UInt8]
    /// Where the checksums of files begin.
    private let seed: UInt64

    private init(bytes: [UInt8]) {
        self.bytes = bytes
        seed = bytes.withUnsafeBytes { Checksum.of($0, seed: 0) }
    }

    /// Creates a random key.
    init() {
        var random = SystemRandomNumberGenerator()
        self.init(bytes: (0..<Self.length).map { _ in UInt8.random(in: .min ... .max, using: &random) })
    }

    /// Reads the file of a key; `nil` if it is damaged.
    init?(reading file: Data) {
        let bytes = Array(file.dropFirst(Self.magic.count).prefix(Self.length))
        self.init(bytes: bytes)
        guard bytes.count == Self.length, file.elementsEqual(self.file) else { return nil }
    }

    /// The bytes of its file.
    var file: Data {
        var writer = StoredFieldWriter()
        writer.add(seed)
        return Data(Self.magic + bytes + writer.bytes)
    }

    /// Returns where the checksums of the file with that name begin.
    func seed(of name: String) -> UInt64 { Checksum.of(name, seed: seed) }

    /// Returns a number for a URL.
    func number(of url: HTTPURL) -> UInt64 {
        var reader = hash { $0.add(["number", url.absoluteString]) }.prefix(8).reversed().makeIterator()
        var number: UInt64 = 0
        while let byte = reader.next() { number = number << 8 | UInt64(byte) }
        return number
    }

    /// Returns a name of 32 letters and digits for what `write` writes.
    fileprivate func name(_ write: (inout StoredFieldWriter) -> Void) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let name = hash(write).prefix(16).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: name, as: UTF8.self)
    }

    private func hash(_ write: (inout StoredFieldWriter) -> Void) -> [UInt8] {
        var writer = StoredFieldWriter()
        write(&writer)
        return SHA256.hash(of: Data(bytes + writer.bytes))
    }
}

/// The place of a resource in the folder of a cache.
///
/// The responses of a session are in folders of their own, so that they can be removed at once: one for those that are
/// found by their URL, and one for those that are found by a name. What depends on nothing but the URL is a file. What
/// depends on credentials or other fields of the request is in a folder beside it, a file for each combination.
struct CachePlace: Sendable {
    /// The folder of the session.
    let area: String
    /// The file of what depends on nothing else, relative to the folder of the cache.
    let plain: String
    /// How the names of those files begin that have the same credentials.
    private let credentials: String
    private let hasCredentials: Bool

    init(of key: CacheKey, by secret: CacheFolderKey) {
        area = Self.area(of: key.partition.session, isNamed: key.resource.isNamed, by: secret)
        plain = "\(area)/\(Self.base(of: key.resource, by: secret))"
        hasCredentials = key.partition.credentials != nil
        credentials =
            key.partition.credentials.map { digest in
                secret.name { writer in
                    writer.add("credentials")
                    for byte in digest { writer.add(byte) }
                }
            } ?? "0"
    }

    /// The folder of what depends on more than the URL.
    var folder: String { Self.folder(beside: plain) }

    /// Whether a response may be at `plain`.
    var isPlain: Bool { !hasCredentials }

    static func folder(beside plain: String) -> String { "\(plain).d" }

    /// Returns the name of the file of a variant.
    func name(of variant: CacheVariant, by secret: CacheFolderKey) -> String {
        if isPlain, variant.names.isEmpty { return plain }
        let name = secret.name { writer in
            writer.add("variant")
            writer.add(variant.names)
            for value in variant.values { writer.add(value) }
        }
        return "\(folder)/\(credentials)-\(name)"
    }

    /// Whether the file with that name in `folder` has the same credentials.
    func isForSameCredentials(_ name: String) -> Bool { name.hasPrefix("\(credentials)-") }

    /// Returns the folder of a session.
    static func area(of session: UUID?, isNamed: Bool, by secret: CacheFolderKey) -> String {
        let kind = isNamed ? "n" : "u"
        guard let session else { return kind }
        return "\(kind)-\(secret.name { $0.add(["session", session.uuidString]) })"
    }

    /// Returns the name of a resource in the folder of a session.
    static func base(of resource: CacheKey.Resource, by secret: CacheFolderKey) -> String {
        switch resource {
        case .url(let url): secret.name { $0.add(["url", url.absoluteString]) }
        case .named(let name, let origin): secret.name { $0.add(["name", origin.description, name]) }
        }
    }

    /// Whether that is the name of the folder of a session.
    static func isArea(_ name: String) -> Bool {
        name == "u" || name == "n" || name.hasPrefix("u-") || name.hasPrefix("n-")
    }
}

extension CacheKey.Resource {
    var isNamed: Bool { if case .named = self { true } else { false } }
}
