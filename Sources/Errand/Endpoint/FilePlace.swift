#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// The place of a file: a path, or a URL that must be one of a file on this machine.
package enum FilePlace: Sendable, Hashable, CustomStringConvertible {
    case path(String)
    case url(URL)

    package var path: String {
        get throws(ServiceError) {
            switch self {
            case .path(let path): return path
            case .url(let url):
                guard url.isFileURL else {
                    throw .badFile("\(HTTPSyntax.quoted(url.absoluteString)) is not the URL of a file")
                }
                // The path alone would name another file, on this machine (RFC 8089, 2).
                if let host = url.host(), !["", "localhost"].contains(host.lowercased()) {
                    throw .badFile("\(HTTPSyntax.quoted(url.absoluteString)) is a file of \(host), not of this machine")
                }
                return url.path
            }
        }
    }

    /// The last component of the path.
    var name: String { String(description.split(separator: "/").last ?? "") }

    /// The path as it was given.
    package var description: String {
        switch self {
        case .path(let path): path
        case .url(let url): url.path
        }
    }
}
