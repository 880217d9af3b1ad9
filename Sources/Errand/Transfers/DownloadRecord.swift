/// What is known of the bytes in a part, so that a later download can go on after them.
///
/// It holds no secret and no name: what was requested, and by whom, is hashed with a key of the record's own, so that
/// two records do not show that they are of the same user or the same file.
struct DownloadRecord: Codable, Sendable, Equatable {
    /// The key of the hashes, a new one for each record.
    let key: String
    /// A hash of what was requested, and in which session.
    let source: String
    /// A hash of where the bytes came from, and of the headers as they were sent.
    let answer: String
    private var tag: String?
    private var date: String?
    var total: Int?
    /// The SHA-256 that the server names for the whole file, in hexadecimal.
    private var sha256: String?

    init(
        key: String, source: String, answer: String, version: FileVersion, total: Int?, digest: FileDigest?
    ) {
        (self.key, self.source, self.answer) = (key, source, answer)
        switch version {
        case .tag(let text): tag = text
        case .date(let text): date = text
        }
        self.total = total
        sha256 = digest?.description
    }

    var version: FileVersion? {
        tag.map { .tag($0) } ?? date.map { .date($0) }
    }

    var digest: FileDigest? { sha256.map { .sha256($0) } }
}
