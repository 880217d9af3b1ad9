public import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import Synchronization

/// A real HTTP/1.1 server on 127.0.0.1, in the test's own process, which can misbehave on command.
///
///     let server = try LoopbackServer()
///     server.on(.get, "/friends", .status(503), .json(#"["Ann"]"#))
///     server.on(.get, "/half", .json(#"["Ann"]"#).cut(.withinBody).always)
///     server.on(.post, "/echo") { request in .status(200, body: request.body) }
///     let client = APIClient(server.baseURL)
///
/// It writes down what it received, byte for byte. What was said last about a request goes first; a request that
/// nothing was said about, or whose replies are used up, is answered with 404. Each connection has a thread, so that a
/// reply may wait. The server ends with `close()`, or when it goes. The first server of a process raises the process's
/// limit on open files to 10,000, or as far as it may.
public final class LoopbackServer: Sendable {
    /// What is done for a request. It runs on a thread of its connection and may wait.
    public typealias Handler = @Sendable (LoopbackRequest) -> LoopbackReply

    /// The server could not be started: the system has no port or no descriptor for it.
    public struct StartFailure: Error, Sendable {}

    /// The port that it listens on.
    public let port: Int
    /// Its URL, without a path.
    public var baseURL: String { "http://127.0.0.1:\(port)" }

    private let core: LoopbackCore

    /// Starts a server on a free port. One that does not listen has a port too, and refuses all connections until
    /// `listen()`.
    public init(isListening: Bool = true) throws(StartFailure) {
        _ = LoopbackDescriptors.raised
        let traffic = LoopbackTraffic()
        guard let (socket, port) = LoopbackSocket.bound(counting: traffic) else { throw StartFailure() }
        self.port = port
        core = LoopbackCore(socket, traffic)
        if isListening { try listen() }
    }

    /// Accepts connections from now on. Does nothing if it does so already, or after `close()`.
    public func listen() throws(StartFailure) {
        guard core.listen() else { throw StartFailure() }
    }

    /// Answers requests of that method and path, or of that path and query, with what the handler makes of them.
    @discardableResult
    public func on(_ method: HTTPMethod, _ path: String, answering handler: @escaping Handler) -> LoopbackServer {
        add(LoopbackRoute(method: method, path: path, answer: .handler(handler)))
    }

    /// Answers requests of that method and path, or of that path and query, one reply after the other.
    @discardableResult
    public func on(_ method: HTTPMethod, _ path: String, _ replies: LoopbackReply...) -> LoopbackServer {
        add(LoopbackRoute(method: method, path: path, answer: .replies(replies)))
    }

    /// Answers all requests that nothing else was said about.
    @discardableResult
    public func onAny(answering handler: @escaping Handler) -> LoopbackServer {
        add(LoopbackRoute(answer: .handler(handler)))
    }

    /// Answers all requests that nothing else was said about, one reply after the other.
    @discardableResult
    public func onAny(_ replies: LoopbackReply...) -> LoopbackServer {
        add(LoopbackRoute(answer: .replies(replies)))
    }

    /// Answers requests of that method and path as soon as their head has come: their body is still on its way, and is
    /// read after the reply unless that closes the connection. Where the handler has no reply, the body is read, with
    /// `100 Continue` for a client that expects it, and the request goes the usual way.
    ///
    /// Steps can say when the body is read: `.readBody`.
    @discardableResult
    public func onHead(
        _ method: HTTPMethod, _ path: String, answering handler: @escaping @Sendable (LoopbackRequest) -> LoopbackReply?
    ) -> LoopbackServer {
        add(LoopbackRoute(method: method, path: path, answer: .early(handler)))
    }

    /// Is asked about each connection when it has been made, by its number from 1. If there is a reply, it is done
    /// before any request is read, and the connection is closed; otherwise the connection is served.
    @discardableResult
    public func onConnection(answering handler: @escaping @Sendable (Int) -> LoopbackReply?) -> LoopbackServer {
        core.state.withLock { $0.onConnection = handler }
        return self
    }

    /// What was received, in order.
    public var received: [LoopbackRequest] { core.state.withLock { $0.received } }
    /// How many connections were made so far.
    public var connections: Int { core.state.withLock { $0.connections } }
    /// How many connections are open now.
    public var openConnections: Int { core.state.withLock { $0.open.count } }
    /// How many bytes have come so far.
    public var bytesReceived: Int { core.traffic.received.load(ordering: .relaxed) }
    /// How many bytes the system has taken off the server's hands so far. The client need not have read them.
    public var bytesSent: Int { core.traffic.sent.load(ordering: .relaxed) }

    /// Waits until at least so many requests were received. Ends early if the task is cancelled.
    public func received(atLeast count: Int) async {
        await core.wait { $0.received.count >= count }
    }

    /// Waits until no connection is open. Ends early if the task is cancelled.
    public func connectionsClosed() async {
        await core.wait { $0.open.isEmpty }
    }

    /// Closes all connections that are open, and goes on listening.
    public func closeConnections() {
        core.closeConnections()
    }

    /// Ends the server: it listens no more, all connections are closed, and pauses are cut short. Its threads end soon
    /// after, each when its handler has returned; `closed()` waits for them.
    public func close() {
        core.close()
    }

    /// Waits until the server, which has been told to `close()`, has neither a thread nor a descriptor any more. Ends
    /// early if the task is cancelled.
    public func closed() async {
        await core.wait { $0.isClosed && $0.threads == 0 }
    }

    private func add(_ route: LoopbackRoute) -> LoopbackServer {
        core.state.withLock { state in
            if route.path == nil { state.others.insert(route, at: 0) } else { state.routes.insert(route, at: 0) }
        }
        return self
    }

    deinit { close() }
}
