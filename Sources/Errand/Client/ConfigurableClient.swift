#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A client that is made from a configuration; ``APIClient`` is the one.
///
/// The initializers are here and not in the actor because those of an actor count as isolated to it: then a closure
/// that was written on the main actor, or in another actor, could not be given to them.
public protocol ConfigurableClient: Sendable {
    /// Makes a client with those rules.
    init(_ configuration: Configuration)
}

extension ConfigurableClient {
    /// Makes a client of the server at that URL.
    ///
    ///     let client = APIClient("https://api.example.com/v1") {
    ///         $0.rateLimit = .requests(5, per: .seconds(1))
    ///     }
    public init(_ baseURL: String, _ configure: (inout Configuration) -> Void = { _ in }) {
        self.init(ServerEnvironment("server", baseURL), configure)
    }

    /// Makes a client of the server at that URL.
    public init(_ baseURL: URL, _ configure: (inout Configuration) -> Void = { _ in }) {
        self.init(baseURL.absoluteString, configure)
    }

    /// Makes a client of a named server.
    public init(_ environment: ServerEnvironment, _ configure: (inout Configuration) -> Void = { _ in }) {
        var configuration = Configuration(environment)
        configure(&configuration)
        self.init(configuration)
    }
}
