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
    func number(of url: HTTPURL) -> UInt64 { number(of: ["number", url.absoluteString]) }

    /// Returns a number for a path and everything below it.
    func number(ofPath path: String, at origin: Origin) -> UInt64 { number(of: ["path", origin.description, path]) }

    /// Returns a number for those words.
    func number(of words: [String]) -> UInt64 {
        hash { $0.add(words) }.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Returns a name of 32 letters and digits for what `write` writes.
    func name(_ write: (inout StoredFieldWriter) -> Void) -> String {
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
