#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A named server: production, staging, QA. It is a plain value that you pass to a client, so that two environments can
/// be used side by side.
///
///     extension ServerEnvironment {
///         static let staging = ServerEnvironment(
///             name: "staging", baseURL: "https://staging.example.com/api/v1")
///     }
public struct ServerEnvironment: Sendable, Hashable, OpaqueReflectable {
    /// The name, for logs.
    public let name: String
    /// The base URL, below which all paths are. The first call checks it.
    public let baseURL: String
    /// The base URLs of further servers with the same API; none by default. See ``servers(_:_:)``.
    public let otherBaseURLs: [String]

    /// Creates an environment.
    public init(name: String, baseURL: String, otherBaseURLs: [String] = []) {
        self.name = name
        self.baseURL = baseURL
        self.otherBaseURLs = otherBaseURLs
    }

    /// Returns an environment of several servers with the same API, at those base URLs.
    ///
    ///     let client = APIClient(.servers("https://api.example.com/v1", "https://backup.example.net/v1"))
    ///
    /// The client asks them as ``Configuration/servers`` says, and goes on to another one when one fails. Each of them
    /// gets the client's credentials. See <doc:SeveralServers>.
    public static func servers(_ baseURL: String, _ others: String...) -> ServerEnvironment {
        ServerEnvironment(name: "servers", baseURL: baseURL, otherBaseURLs: others)
    }

    /// All base URLs.
    var baseURLs: [String] { [baseURL] + otherBaseURLs }

    /// Creates an environment.
    public init(name: String, baseURL: URL) {
        self.init(name: name, baseURL: baseURL.absoluteString)
    }

    /// The name and the URLs, with secrets redacted.
    public var description: String {
        "\(name) (\(baseURLs.map { Redactor.standard.text(ofURL: $0) }.joined(separator: ", ")))"
    }
}
