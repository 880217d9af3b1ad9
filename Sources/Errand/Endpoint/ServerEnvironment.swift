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

    /// Creates an environment.
    public init(name: String, baseURL: String) {
        self.name = name
        self.baseURL = baseURL
    }

    /// Creates an environment.
    public init(name: String, baseURL: URL) {
        self.init(name: name, baseURL: baseURL.absoluteString)
    }

    /// The name and the URL, with secrets redacted.
    public var description: String { "\(name) (\(Redactor.standard.text(ofURL: baseURL)))" }
}
