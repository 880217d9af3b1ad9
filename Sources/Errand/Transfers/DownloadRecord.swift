#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What is known of the bytes in a part, so that a later download can go on after them. It holds no secret: of the URL
/// it has only a hash.
struct DownloadRecord: Codable, Sendable, Equatable {
    /// A hash of what was requested.
    var source: String
    private var tag: String?
    private var date: String?
    var total: Int?
    /// The SHA-256 that the server names for the whole file, in hexadecimal.
    private var sha256: String?

    init(source: String, version: FileVersion, total: Int?, digest: FileDigest?) {
        self.source = source
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

extension Endpoint {
    /// A hash of what the endpoint requests from that server.
    ///
    /// - Parameter isSigned: Whether the query is a signature, which is another one each time.
    func source(at base: String, isSigned: Bool) -> String {
        let url =
            switch target {
            case .url(let text): text
            case .page(let url): url.absoluteString
            case nil: "\(base)\n\(path)"
            }
        let shown = isSigned ? String(url.prefix { $0 != "?" }) : "\(url)\n\(query.encoded)"
        return FileDigest.hexadecimal(SHA256.hash(of: Data("\(method) \(shown)".utf8)))
    }
}
