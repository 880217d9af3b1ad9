#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A client that is created from a configuration. ``APIClient`` conforms to it.
///
/// The initializers are here and not in the actor, because an actor's initializers count as isolated to it: they would
/// not accept a closure that was written on the main actor, or in another actor.
public protocol ConfigurableClient: Sendable {
    /// Creates a client with that configuration.
    init(_ configuration: Configuration)
}

extension ConfigurableClient {
    /// Creates a client for the server at that URL.
    ///
    ///     let client = APIClient("https://api.example.com/v1") {
    ///         $0.rateLimit = .requests(5, per: .seconds(1))
    ///     }
    public init(_ baseURL: String, _ configure: (inout Configuration) -> Void = { _ in }) {
        self.init(ServerEnvironment(name: "server", baseURL: baseURL), configure)
    }

    /// Creates a client for the server at that URL.
    public init(_ baseURL: URL, _ configure: (inout Configuration) -> Void = { _ in }) {
        self.init(baseURL.absoluteString, configure)
    }

    /// Creates a client for a named server.
    public init(_ environment: ServerEnvironment, _ configure: (inout Configuration) -> Void = { _ in }) {
        var configuration = Configuration(environment)
        configure(&configuration)
        self.init(configuration)
    }
}
