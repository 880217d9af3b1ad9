public import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A real HTTP/1.1 server on 127.0.0.1, in the test's own process, which can misbehave on command.
///
///     let server = try LoopbackServer()
///     server.on(.get, "/friends") { _ in .json(#"["Ann"]"#) }
///     server.on(.get, "/slow") { _ in .silence }
///     let client = APIClient(server.baseURL)
///
/// It writes down what it received, byte for byte. A request that nothing was said about is answered with 404. It ends
/// with `close()`, or when it goes.
public final class LoopbackServer: Sendable {
    /// What is done for a request. It runs on a thread of its connection and may wait.
    public typealias Handler = @Sendable (LoopbackRequest) -> LoopbackReply

    /// The server could not be started.
    public struct StartFailure: Error, Sendable {}

    fileprivate struct Route: Sendable {
        var method: HTTPMethod?
        var path: String
        var handler: Handler
    }

    private struct State {
        var routes: [Route] = []
        var received: [LoopbackRequest] = []
        var open: [Int: LoopbackSocket] = [:]
        var connections = 0
        var isClosed = false
    }

    /// The port that it listens on.
    public let port: Int
    /// Its URL, without a path.
    public var baseURL: String { "http://127.0.0.1:\(port)" }

    private let listener: LoopbackSocket
    private let core: Core

    /// Starts a server on a free port.
    public init() throws(StartFailure) {
        guard let (socket, port) = LoopbackSocket.listening() else { throw StartFailure() }
        listener = socket
        self.port = port
        core = Core()
        LoopbackThread.start { [core] in core.accept(from: socket) }
    }

    /// Answers requests of that method and path, or of that path and query. What was said last goes first.
    @discardableResult
    public func on(_ method: HTTPMethod, _ path: String, answering handler: @escaping Handler) -> LoopbackServer {
        core.state.withLock { $0.routes.insert(Route(method: method, path: path, handler: handler), at: 0) }
        return self
    }

    /// Answers all requests that nothing else was said about.
    @discardableResult
    public func onAny(answering handler: @escaping Handler) -> LoopbackServer {
        core.state.withLock { $0.routes.append(Route(method: nil, path: "*", handler: handler)) }
        return self
    }

    /// What was received, in order.
    public var received: [LoopbackRequest] { core.state.withLock { $0.received } }
    /// How many connections were made so far.
    public var connections: Int { core.state.withLock { $0.connections } }
    /// How many connections are open now.
    public var openConnections: Int { core.state.withLock { $0.open.count } }

    /// Closes all connections that are open, and goes on listening.
    public func closeConnections() {
        for socket in core.state.withLock({ Array($0.open.values) }) { socket.shut() }
    }

    /// Ends the server: it listens no more, and all connections are closed.
    public func close() {
        core.state.withLock { $0.isClosed = true }
        listener.shut()
        closeConnections()
    }

    deinit { close() }
}

extension LoopbackServer {
    /// What the threads of the server share; it goes when the last of them has ended.
    private final class Core: Sendable {
        let state = Lock(State())

        func accept(from listener: LoopbackSocket) {
            while let socket = listener.accepted() {
                let number: Int? = state.withLock { state in
                    guard !state.isClosed else { return nil }
                    state.connections += 1
                    state.open[state.connections] = socket
                    return state.connections
                }
                guard let number else { return }
                LoopbackThread.start { self.serve(socket, number: number) }
            }
        }

        private func serve(_ socket: LoopbackSocket, number: Int) {
            var reader = LoopbackReader(socket, connection: number)
            while let request = reader.next() {
                let handler = state.withLock { state in
                    state.received.append(request)
                    return state.routes.first { $0.matches(request) }?.handler
                }
                let reply = handler?(request) ?? .status(404)
                guard perform(reply, for: request, on: socket) else { break }
                if request.headers["Connection"]?.lowercased() == "close" { break }
            }
            // With the last reference the socket is closed.
            state.withLock { $0.open[number] = nil }
        }

        /// Does what the reply says; `false` if that was the end of the connection.
        private func perform(_ reply: LoopbackReply, for request: LoopbackRequest, on socket: LoopbackSocket) -> Bool {
            for step in reply.steps {
                switch step {
                case .write(let data):
                    guard socket.write(request.method == .head ? data.prefix(throughHead: data) : data) else {
                        return false
                    }
                case .drip(let data, let pause):
                    for byte in data {
                        guard socket.write([byte]) else { return false }
                        LoopbackThread.pause(pause)
                    }
                case .pause(let pause): LoopbackThread.pause(pause)
                case .repeatForever(let data):
                    while socket.write(data) {}
                    return false
                case .silence:
                    while !socket.read().isEmpty {}
                    return false
                case .close: return false
                case .reset:
                    socket.abort()
                    return false
                }
            }
            return true
        }
    }
}

extension LoopbackServer.Route {
    func matches(_ request: LoopbackRequest) -> Bool {
        guard method == nil || method == request.method else { return false }
        return path == "*" || path == request.path || path == request.target
    }
}

extension Data {
    /// What an answer to HEAD is: the head of the answer to GET.
    fileprivate func prefix(throughHead data: Data) -> Data {
        guard let end = firstRange(of: Data([13, 10, 13, 10])) else { return self }
        return self[..<end.upperBound]
    }
}
