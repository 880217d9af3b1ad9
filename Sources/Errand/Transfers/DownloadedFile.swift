#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A file that was downloaded.
public struct DownloadedFile: Sendable, Hashable {
    /// The path of the file, as it was given.
    public let path: String
    /// The number of bytes in the file.
    public let bytes: Int
    /// The number of bytes that an earlier download had left, and that were not fetched again; 0 if there were none.
    public let resumedAfter: Int
    /// The number of attempts. A connection that broke and was continued counts as one more.
    public let attempts: Int
    /// Whether the file was checked against a digest, the caller's or one that the server has named.
    public let isVerified: Bool
    /// The status of the last response: 200, or 206 if that was a part of the file, or 416 if nothing was missing.
    public let status: Int
    /// The header fields of the last response.
    public let headers: HTTPHeaders

    /// Creates a value, for a test of your own.
    public init(
        path: String, bytes: Int, resumedAfter: Int = 0, attempts: Int = 1, isVerified: Bool = false, status: Int = 200,
        headers: HTTPHeaders = [:]
    ) {
        self.path = path
        self.bytes = bytes
        self.resumedAfter = resumedAfter
        self.attempts = attempts
        self.isVerified = isVerified
        self.status = status
        self.headers = headers
    }

    /// Whether the download went on where an earlier one had ended.
    public var isResumed: Bool { resumedAfter > 0 }
    /// The location of the file.
    public var url: URL { URL(filePath: path) }
}

extension DownloadedFile: CustomStringConvertible {
    /// The path and the size as one line, with what is special about the download.
    public var description: String {
        let notes = [
            isResumed ? "resumed after \(resumedAfter)" : nil, attempts > 1 ? "\(attempts) attempts" : nil,
            isVerified ? "verified" : nil,
        ]
        return (["\(path.printable): \(bytes) bytes"] + notes.compactMap(\.self)).joined(separator: ", ")
    }
}
