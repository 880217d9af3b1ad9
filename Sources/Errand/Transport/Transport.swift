/// A type that sends one request and returns its response.
///
/// A transport follows no redirects, keeps no cookies, caches nothing, and never resends a request that is not safe to
/// repeat. It may join the lines of a header field with commas, but not those of `Set-Cookie`. It ends promptly when
/// its task is canceled, which is also how the client stops a send whose time is up. It may throw a `ServiceError`; any
/// other error becomes `.transport` of the kind `.other`, including a `CancellationError` that it throws although the
/// send was not stopped.
///
/// Two methods are enough. A transport that queues requests or shares connections does better with ``features``, and a
/// transport that passes requests on to another one passes on these as well. The documentation's page of this protocol
/// shows both.
public protocol Transport: Sendable {
    /// Sends the request and returns the response, whatever its status.
    func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse
    /// Closes all connections. Sends in progress fail.
    func shutdown() async
    /// Ends what is left of the sends of a client that shuts down, and waits for that: the client has stopped them all,
    /// but the transport may still be closing their connections. Does nothing by default. The shutdown of the client
    /// waits for this, so it must not wait for the client.
    func endSends(of client: TransportContext.Client) async
    /// How a client with this transport checks for a network, unless its configuration says otherwise.
    var connectivity: Connectivity { get }
    /// What the transport does by itself; nothing by default. The client does the rest. It asks once, when it is
    /// created.
    var features: TransportFeatures { get }
    /// What servers may take the sender of its requests for, beside what is in them: a client certificate, a proxy, the
    /// authorities that it trusts. Clients share what is in a cache only if the identities of their transports are
    /// equal; `""` is that of a transport that nothing sets apart. It is part of the keys of a cache on a disk, so it
    /// must not change from process to process, and of no use to anybody who has only it.
    ///
    /// `nil`, not known, by default: a client with such a transport shares no responses with other clients, and keeps
    /// them in memory. The client asks once, when it is created.
    var identity: String? { get }
    /// A warning about the transport for the program's developer, always the same; `nil`, none, by default. It is
    /// reported once in a process, as ``ClientEvent/Kind/warned(_:)``, by the first client with a listener.
    var warning: String? { get }
    /// An executor for tasks that make calls with this transport, which spares them changes of threads; `nil`, none, by
    /// default. See ``APIClient/executor``.
    var executor: (any TaskExecutor)? { get }
}

extension Transport {
    /// Does nothing.
    public func endSends(of client: TransportContext.Client) async {}

    /// The system's view of the network.
    public var connectivity: Connectivity { .system }
    /// None.
    public var features: TransportFeatures { [] }
    /// Not known.
    public var identity: String? { nil }
    /// None.
    public var warning: String? { nil }
    /// None.
    public var executor: (any TaskExecutor)? { nil }
}

/// What a transport does by itself, because it can do it better than its client.
public struct TransportFeatures: OptionSet, Sendable, Hashable {
    /// The features as bits.
    public let rawValue: Int

    /// Creates a set of features from their bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// It ends its waits itself when a send is stopped, with ``TransportContext/withStopHandler(_:onStop:)``. Otherwise
    /// the client runs each send in a child task, which it cancels.
    public static let observesStops = TransportFeatures(rawValue: 1)
    /// It calls ``TransportContext/usePermit()`` as its last act before the first byte, because requests may wait in
    /// it. Otherwise the client does so before it calls the transport, and requests that have waited there can leave in
    /// a bunch.
    public static let usesPermits = TransportFeatures(rawValue: 2)
    /// It reports with ``TransportContext/uploadProgress(of:)`` how much of a body it has sent. Otherwise the client
    /// reports how much of the body the transport has read.
    public static let countsUploads = TransportFeatures(rawValue: 4)
}
