/// A type that sends one request and returns its response.
///
/// A transport follows no redirects, keeps no cookies, caches nothing, and never resends a request that is not safe to
/// repeat. It ends promptly when its task is canceled, which is also how the client stops a send whose time is up. It
/// may throw a `ServiceError`; any other error becomes `.transport` of the kind `.other`, including a
/// `CancellationError` that it throws although the send was not stopped.
public protocol Transport: Sendable {
    /// Sends the request and returns the response, whatever its status.
    func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse
    /// Closes all connections. Sends in progress fail.
    func shutdown() async
    /// How a client with this transport checks for a network, unless its configuration says otherwise.
    var connectivity: Connectivity { get }
}

extension Transport {
    /// The system's view of the network.
    public var connectivity: Connectivity { .system }
}

/// A transport that observes stops through the scope of its context, so that its sends need no child task.
package protocol StoppableTransport: Transport {
    /// A warning about the transport for a person; `nil` if there is none.
    var notice: Notice? { get }
    /// Whether the transport itself reports how much of a body it has sent.
    var countsUploads: Bool { get }
    /// Whether the transport itself uses the permit of a send, because it may let requests wait.
    var usesPermits: Bool { get }
}

extension StoppableTransport {
    package var notice: Notice? { nil }
    package var countsUploads: Bool { false }
    package var usesPermits: Bool { false }
}
