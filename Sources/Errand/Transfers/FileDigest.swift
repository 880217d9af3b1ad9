#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The digest of a file: the one that a downloaded file must have, or the one of a file that is there.
///
///     let file = try await client.download(
///         .get("app.zip"), to: "app.zip",
///         expecting: .sha256("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
public struct FileDigest: Sendable, Hashable, CustomStringConvertible {
    /// The digest in lower-case hexadecimal, or a text that is no digest.
    private let text: String

    /// Creates a SHA-256 from its 32 bytes in hexadecimal, as `sha256sum` prints them, or in base64. With any other
    /// text, the download fails with `.invalidRequest`.
    public static func sha256(_ text: String) -> FileDigest {
        FileDigest(text: text)
    }

    /// Returns the SHA-256 of bytes in memory.
    public static func sha256(of data: Data) -> FileDigest {
        FileDigest(bytes: SHA256.hash(of: data))
    }

    /// Returns the SHA-256 of the file at a path.
    ///
    ///     let digest = try await FileDigest.sha256(ofFile: "backup.tar")
    ///     print(digest, digest.base64)
    ///
    /// The file is read in pieces, on the threads that Errand has for files, so a large file takes little memory and
    /// keeps no other task waiting. After a cancellation, it throws `.cancelled` at once.
    ///
    /// - Throws: `.invalidRequest` if there is no such file or it cannot be read, and `.transport` of the kind `.file`
    ///   if it changes while it is read.
    public static func sha256(ofFile path: String) async throws(ServiceError) -> FileDigest {
        FileDigest(bytes: try await FileHash.sha256(of: .path(path)))
    }

    /// Returns the SHA-256 of the file at a URL, like ``sha256(ofFile:)-(String)``.
    public static func sha256(ofFile url: URL) async throws(ServiceError) -> FileDigest {
        FileDigest(bytes: try await FileHash.sha256(of: .url(url)))
    }

    /// The bytes; `nil` if the text has another form.
    var bytes: [UInt8]? {
        let bytes = text.utf8.count == 64 ? Hexadecimal.decode(text) : Data(base64Encoded: text).map(Array.init)
        return bytes.flatMap { $0.count == 32 ? $0 : nil }
    }

    /// The digest in hexadecimal, or the text as given if it is not one.
    public var description: String { bytes == nil ? text.printable : text }
    /// The digest in base64, as some services take it in a header; the text as given if it is not one.
    public var base64: String { bytes.map { Data($0).base64EncodedString() } ?? text.printable }

    /// Throws unless the text is a digest.
    func check() throws(ServiceError) {
        guard bytes == nil else { return }
        let reason = "\(HTTPSyntax.quoted(text)) is not a SHA-256 in hexadecimal or base64"
        throw .invalidRequest(InvalidRequest(.configuration, reason))
    }

    /// Returns the SHA-256 that a response names for the whole file; `nil` if it names none.
    init?(of status: Int, _ headers: HTTPHeaders) {
        // A digest of compressed bytes is not that of the file.
        guard headers.hasPlainBody else { return nil }
        // The content of a 206 is only a part of the file, but its representation is the whole.
        let names = status == 206 ? ["Repr-Digest"] : ["Repr-Digest", "Content-Digest"]
        let found = names.lazy.compactMap { DigestFields(headers.values($0))?.sha256 }.first
        guard let found else { return nil }
        self.init(bytes: found)
    }

    private init(text: String) {
        // In one form, so that equal digests are equal values.
        self.text = FileDigest(verbatim: text).bytes.map(Hexadecimal.encode) ?? text
    }

    private init(bytes: [UInt8]) {
        text = Hexadecimal.encode(bytes)
    }

    private init(verbatim text: String) {
        self.text = text
    }
}

/// The digests in `Repr-Digest` and `Content-Digest` (RFC 9530): a dictionary of structured fields whose values are
/// byte sequences.
///
/// ```text
/// sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:;a=1, sha-512=:…:
/// ```
///
/// Parameters, and members of other kinds, say nothing about a digest, and do not hide the digest beside them.
struct DigestFields: Sendable, Hashable {
    /// The digests by the name of their algorithm.
    private(set) var digests: [String: [UInt8]] = [:]

    /// The SHA-256; `nil` if there is none, or if it has another length.
    var sha256: [UInt8]? { digests["sha-256"].flatMap { $0.count == 32 ? $0 : nil } }

    /// Reads the values of all fields with the name. Returns `nil` if they are not such a dictionary: then the whole of
    /// it counts as missing.
    init?(_ values: [String]) {
        guard let members = StructuredField.dictionary(values), !members.isEmpty else { return nil }
        for member in members {
            if let key = member.key, case .bytes(let digest) = member.value { digests[key] = digest }
        }
    }
}
