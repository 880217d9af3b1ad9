public import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import Synchronization

/// A real HTTP/1.1 server in the test's own process, on 127.0.0.1 or, on Linux, on a Unix socket. It can misbehave on
/// demand.
///
///     let server = try LoopbackServer()
///     server.on(.get, "/friends", .status(503), .json(#"["Ann"]"#))
///     server.on(.get, "/half", .json(#"["Ann"]"#).cut(.withinBody).always)
///     server.on(.post, "/echo") { request in .status(200, body: request.body) }
///     let client = APIClient(server.baseURL)
///
/// It records the requests that it receives, byte for byte. Of several routes that match a request, the first with a
/// reply left responds, as in a `ScriptedTransport`; a request without one receives a 404. Each connection has a
/// thread, so a reply may wait. The server ends with `close()`, or when it is released. The first server of a process
/// raises the process's limit on open files to 10,000, or as far as the system allows.
public final class LoopbackServer: Sendable {
    /// A closure that responds to a request. It runs on a thread of its connection and may wait.
    public typealias Handler = @Sendable (LoopbackRequest) -> LoopbackReply

    /// A closure that responds to a request and may suspend. Its task runs on a thread of its connection. When the
    /// server closes the connection, the task is canceled, and nothing waits for it. If it throws, the response is a
    /// 500 with the error.
    public typealias AsyncHandler = @Sendable (LoopbackRequest) async throws -> LoopbackReply

    /// The error of a server that could not start: the system has no port or no descriptor for it.
    public struct StartFailure: Error, Sendable {}

    /// The port of the server; 0 if it has a Unix socket.
    public let port: Int
    /// The URL of the server, without a path.
    public var baseURL: String { port == 0 ? "http://localhost" : "http://127.0.0.1:\(port)" }

    private let core: LoopbackCore

    private init(
        _ socket: LoopbackSocket, port: Int, _ traffic: LoopbackTraffic, isListening: Bool
    ) throws(StartFailure) {
        self.port = port
        core = LoopbackCore(socket, traffic)
        if isListening { try listen() }
    }

    /// Starts a server on a free port. A server that does not listen also has a port, and refuses all connections until
    /// `listen()`.
    public convenience init(isListening: Bool = true) throws(StartFailure) {
        _ = LoopbackDescriptors.raised
        let traffic = LoopbackTraffic()
        guard let (socket, port) = LoopbackSocket.bound(counting: traffic) else { throw StartFailure() }
        try self.init(socket, port: port, traffic, isListening: isListening)
    }

    #if os(Linux)
    /// Starts a server on a Unix socket at that path of at most 107 bytes, where no file may be yet. The server removes
    /// the file when it ends. A transport reaches it with `CurlTransport.Options.unixSocket`.
    public convenience init(unixSocket path: String, isListening: Bool = true) throws(StartFailure) {
        _ = LoopbackDescriptors.raised
        let traffic = LoopbackTraffic()
        guard let socket = LoopbackSocket.bound(to: path, counting: traffic) else { throw StartFailure() }
        try self.init(socket, port: 0, traffic, isListening: isListening)
    }
    #endif

    /// Accepts connections from now on. Does nothing if the server listens already, or after `close()`.
    public func listen() throws(StartFailure) {
        guard core.listen() else { throw StartFailure() }
    }

    /// Responds to requests with that method and path, or with that path and query, with the handler's reply.
    @discardableResult
    public func on(_ method: HTTPMethod, _ path: String, answering handler: @escaping Handler) -> LoopbackServer {
        add(LoopbackRoute(method: method, path: path, answer: .handler(.synchronous(handler))))
    }

    /// Responds to requests with that method and path, or with that path and query, with the reply of a handler that
    /// may suspend.
    @discardableResult
    public func on(_ method: HTTPMethod, _ path: String, answering handler: @escaping AsyncHandler) -> LoopbackServer {
        add(LoopbackRoute(method: method, path: path, answer: .handler(.asynchronous(Self.catching(handler)))))
    }

    /// Responds to requests with that method and path, or with that path and query, with one reply after the other.
    @discardableResult
    public func on(_ method: HTTPMethod, _ path: String, _ replies: LoopbackReply...) -> LoopbackServer {
        add(LoopbackRoute(method: method, path: path, answer: .replies(replies)))
    }

    /// Responds to all requests that match no other route.
    @discardableResult
    public func onAny(answering handler: @escaping Handler) -> LoopbackServer {
        add(LoopbackRoute(answer: .handler(.synchronous(handler))))
    }

    /// Responds to all requests that match no other route, with the reply of a handler that may suspend.
    @discardableResult
    public func onAny(answering handler: @escaping AsyncHandler) -> LoopbackServer {
        add(LoopbackRoute(answer: .handler(.asynchronous(Self.catching(handler)))))
    }

    /// Responds to all requests that match no other route, with one reply after the other.
    @discardableResult
    public func onAny(_ replies: LoopbackReply...) -> LoopbackServer {
        add(LoopbackRoute(answer: .replies(replies)))
    }

    /// Responds to requests with that method and path as soon as their head has arrived, while the body is still on its
    /// way. The body is read after the reply, unless that closes the connection. If the handler returns `nil`, the body
    /// is read, with `100 Continue` for a client that expects it, and the request is handled as usual.
    ///
    /// The step `.readBody` reads the body at another time.
    @discardableResult
    public func onHead(
        _ method: HTTPMethod, _ path: String, answering handler: @escaping @Sendable (LoopbackRequest) -> LoopbackReply?
    ) -> LoopbackServer {
        add(LoopbackRoute(method: method, path: path, answer: .early(.synchronous(handler))))
    }

    /// Responds to requests as soon as their head has arrived, with the reply of a handler that may suspend. If the
    /// handler returns `nil`, the body is read, and the request is handled as usual.
    @discardableResult
    public func onHead(
        _ method: HTTPMethod, _ path: String,
        answering handler: @escaping @Sendable (LoopbackRequest) async -> LoopbackReply?
    ) -> LoopbackServer {
        add(LoopbackRoute(method: method, path: path, answer: .early(.asynchronous(handler))))
    }

    /// Calls the handler for each new connection, with its number from 1. If the handler returns a reply, its steps run
    /// before any request is read, and the connection is closed; otherwise the connection is served.
    @discardableResult
    public func onConnection(answering handler: @escaping @Sendable (Int) -> LoopbackReply?) -> LoopbackServer {
        core.state.withLock { $0.onConnection = .synchronous(handler) }
        return self
    }

    /// Calls the handler, which may suspend, for each new connection, with its number from 1. If it returns a reply,
    /// its steps run before any request is read, and the connection is closed; otherwise the connection is served.
    @discardableResult
    public func onConnection(
        answering handler: @escaping @Sendable (Int) async -> LoopbackReply?
    ) -> LoopbackServer {
        core.state.withLock { $0.onConnection = .asynchronous(handler) }
        return self
    }

    /// The requests received so far, in order. The server keeps all of them.
    public var received: [LoopbackRequest] { core.state.withLock { $0.received } }
    /// The number of connections so far.
    public var connections: Int { core.state.withLock { $0.connections } }
    /// The number of connections that are open now.
    public var openConnections: Int { core.state.withLock { $0.open.count } }
    /// The number of bytes received so far.
    public var bytesReceived: Int { core.traffic.received.load(ordering: .relaxed) }
    /// The number of bytes that the system has accepted for sending so far. The client need not have read them.
    public var bytesSent: Int { core.traffic.sent.load(ordering: .relaxed) }

    /// Waits until at least `count` requests were received. Returns early if the task is canceled.
    public func received(atLeast count: Int) async {
        await core.wait { $0.received.count >= count }
    }

    /// Waits until no connection is open. Returns early if the task is canceled.
    public func connectionsClosed() async {
        await core.wait { $0.open.isEmpty }
    }

    /// Closes all open connections, and continues to listen.
    public func closeConnections() {
        core.closeConnections()
    }

    /// Ends the server: it stops listening, closes all connections, cuts pauses short, and cancels handlers that may
    /// suspend. Each of its threads ends as soon as its other handler has returned; `closed()` waits for them.
    public func close() {
        core.close()
    }

    /// Waits until the server has neither threads nor descriptors any more, after `close()`. Returns early if the task
    /// is canceled.
    public func closed() async {
        await core.wait { $0.isClosed && $0.threads == 0 }
    }

    private static func catching(
        _ handler: @escaping AsyncHandler
    ) -> @Sendable (LoopbackRequest) async -> LoopbackReply {
        { request in
            do {
                return try await handler(request)
            } catch {
                return .status(500, body: "the handler has thrown \(error)")
            }
        }
    }

    private func add(_ route: LoopbackRoute) -> LoopbackServer {
        core.state.withLock { state in
            if route.path == nil { state.others.append(route) } else { state.routes.append(route) }
        }
        return self
    }

    deinit { close() }
}
