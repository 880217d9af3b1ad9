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
