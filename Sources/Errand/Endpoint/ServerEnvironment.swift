#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A server by name: production, staging, qa. A plain value that is handed to the client, so that two can live side
/// by side.
///
///     extension ServerEnvironment {
///         static let staging = ServerEnvironment(
///             "staging", "https://staging.example.com/api/v1")
///     }
public struct ServerEnvironment: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The name, for logs.
    public let name: String
    /// The URL below which all paths lie. It is checked by the first call.
    public let baseURL: String

    /// Makes an environment.
    public init(_ name: String, _ baseURL: String) {
        self.name = name
        self.baseURL = baseURL
    }

    /// Makes an environment.
    public init(_ name: String, _ baseURL: URL) {
        self.init(name, baseURL.absoluteString)
    }

    /// The name and the URL.
    public var description: String { "\(name) (\(Redactor.standard.text(ofURL: baseURL)))" }
    /// Shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["environment": description]) }
}
