#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// The place of a file: a path, or a URL that must be one of a file.
package enum FilePlace: Sendable, CustomStringConvertible {
    case path(String)
    case url(URL)

    var path: String {
        get throws(ServiceError) {
            switch self {
            case .path(let path): return path
            case .url(let url):
                guard url.isFileURL else {
                    let reason = "\(HTTPSyntax.quoted(url.absoluteString)) is not the URL of a file"
                    throw .invalidRequest(InvalidRequest(.file, reason))
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
