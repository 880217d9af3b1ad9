/// The part of a client that touches the network.
///
/// A transport sends one request and returns one response. It follows no redirect, keeps no cookies, caches nothing and
/// sends nothing a second time. It ends promptly when its task is cancelled: that is also how an attempt is stopped
/// whose time is up. It may throw a `ServiceError` of its own; whatever else it throws becomes `.transport(.other)`, a
/// `CancellationError` too, unless the send was stopped.
public protocol Transport: Sendable {
    /// Sends the request and returns the answer, whatever its status.
    func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse
    /// Ends all connections. Sends that are under way fail.
    func shutdown() async
    /// How a client that uses this transport finds out whether there is a network, unless its configuration says
    /// otherwise.
    var connectivity: Connectivity { get }
}

extension Transport {
    /// The system's own word.
    public var connectivity: Connectivity { .system }
}

/// A transport that listens for stops itself, through the scope of its context: its sends need no child task.
package protocol StoppableTransport: Transport {
    /// What a person should know about it, if there is anything.
    var notice: Notice? { get }
}

extension StoppableTransport {
    package var notice: Notice? { nil }
}

/// What a transport is told besides the request.
public struct TransportContext: Sendable {
    /// How the caller wants the body.
    public enum Delivery: Sendable, Hashable {
        /// Whole: the transport may collect it itself, in one hop, up to `bodyLimit`.
        case whole
        /// As it comes: the answer is wanted as soon as its head is there.
        case stream
    }

    /// How the caller wants the body.
    public var delivery: Delivery
    /// How many bytes the body may have, decompressed; more is `.transport(.tooLarge)`.
    public var bodyLimit: Int
    /// The limit of this attempt. The client stops an attempt that is over it, so a transport need not.
    public var timeout: Duration
    /// The clock.
    public var time: any TimeSource
    private let reporter: any PhaseReporter
    /// The scope of the attempt. A send outside of a client has a scope of its own, which nobody stops.
    package let scope: CallScope

    /// Makes a context. A transport gets its own from the client.
    public init(
        delivery: Delivery = .whole, bodyLimit: Int = 64 << 20, timeout: Duration = .seconds(30),
        time: any TimeSource = .system, report: @escaping @Sendable (Phase) -> Void = { _ in }
    ) {
        self.delivery = delivery
        self.bodyLimit = bodyLimit
        self.timeout = timeout
        self.time = time
        reporter = PhaseClosure(report: report)
        scope = CallScope()
    }

    init(
        delivery: Delivery, bodyLimit: Int, timeout: Duration, time: any TimeSource, reporter: any PhaseReporter,
        scope: CallScope
    ) {
        self.delivery = delivery
        self.bodyLimit = bodyLimit
        self.timeout = timeout
        self.time = time
        self.reporter = reporter
        self.scope = scope
    }

    /// Tells what the attempt is doing now, so that a timeout can say what it interrupted.
    public func note(_ phase: Phase) {
        reporter.note(phase)
    }
}

/// Whoever wants to know what an attempt is doing: the call itself, most often.
protocol PhaseReporter: AnyObject, Sendable {
    func note(_ phase: Phase)
}

private final class PhaseClosure: PhaseReporter {
    private let report: @Sendable (Phase) -> Void

    init(report: @escaping @Sendable (Phase) -> Void) {
        self.report = report
    }

    func note(_ phase: Phase) {
        report(phase)
    }
}
