#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Where the bytes of a download come from: what was requested, and the place of the response that brought them.
///
/// Bytes are appended only if they come from the same place, as a response to the same request (`D15`). If an earlier
/// download has left a part, its record has hashes of both: that of the request is compared before it is sent, that of
/// the place with the first response.
struct DownloadOrigin: Sendable {
    /// What the last request asks for, and where it is sent.
    private var source: DownloadSource?
    private var url: HTTPURL?
    /// The place of the bytes that are there; `nil` if there are none, or if no response has confirmed it yet.
    private var place: String?
    /// The record of the part.
    private var record: DownloadRecord?

    /// Notes the next request. Returns whether it asks for the same as the last one; `nil` if it is the first.
    mutating func request(_ source: DownloadSource, at url: HTTPURL) -> Bool? {
        defer { (self.source, self.url) = (source, url) }
        return self.source?.isSame(as: source)
    }

    /// Takes over the record of a part that an earlier download has left. Returns whether it is a part of what was
    /// requested.
    mutating func resume(_ record: DownloadRecord) -> Bool {
        guard let source, record.source == source.hash(with: record.key) else { return false }
        self.record = record
        return true
    }

    /// Returns whether the response comes from where the bytes come from that are there: a redirect may lead elsewhere,
    /// and a middleware may add another user's header.
    func includes(_ response: HTTPResponse, to sent: HTTPHeaders) -> Bool {
        if let place { return place == self.place(of: response) }
        return record.map { $0.answer == hash(of: response, to: sent, with: $0.key) } ?? false
    }

    /// Notes that bytes of the response are there now.
    mutating func keep(_ response: HTTPResponse) {
        place = place(of: response)
    }

    /// Notes that nothing is there.
    mutating func forget() {
        (place, record) = (nil, nil)
    }

    /// Returns a new record of what is there, which the response has brought.
    mutating func newRecord(
        of response: HTTPResponse, to sent: HTTPHeaders, version: FileVersion, total: Int?, digest: FileDigest?,
        key: String
    ) -> DownloadRecord? {
        guard let source else { return nil }
        let record = DownloadRecord(
            key: key, source: source.hash(with: key), answer: hash(of: response, to: sent, with: key),
            version: version, total: total, digest: digest)
        self.record = record
        return record
    }

    private func place(of response: HTTPResponse) -> String? { (response.source ?? url)?.place }

    private func hash(of response: HTTPResponse, to sent: HTTPHeaders, with key: String) -> String {
        source?.hash(of: response.headers, from: place(of: response) ?? "", to: sent, with: key) ?? ""
    }
}
