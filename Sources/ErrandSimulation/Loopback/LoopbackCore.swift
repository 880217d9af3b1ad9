import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The state that the threads of a `LoopbackServer` share. It is released when the last of them has ended.
final class LoopbackCore: Sendable {
    struct State {
        var routes: [LoopbackRoute] = []
        /// The routes for requests that match no other route.
        var others: [LoopbackRoute] = []
        var onConnection: LoopbackHandler<Int, LoopbackReply?>?
        var received: [LoopbackRequest] = []
        var open: [Int: LoopbackSocket] = [:]
        var connections = 0
        /// The listening socket; `nil` after the server has ended.
        var listener: LoopbackSocket?
        var isListening = false
        var threads = 0
        var isClosed = false
        var watchers: [Watcher] = []
    }

    /// A waiter for a condition.
    struct Watcher: Sendable {
        var isMet: @Sendable (State) -> Bool
        var continuation: AsyncStream<Never>.Continuation
    }

    let traffic: LoopbackTraffic
    let state: Lock<State>

    init(_ listener: LoopbackSocket, _ traffic: LoopbackTraffic) {
        self.traffic = traffic
        state = Lock(State(listener: listener))
    }

    /// Starts to accept connections. Returns `false` if the system refuses.
    func listen() -> Bool {
        let listener: LoopbackSocket? = state.withLock { state in
            guard !state.isListening, let listener = state.listener else { return nil }
            state.isListening = true
            return listener
        }
        guard let listener else { return true }
        return listener.listens() && start { core in core.accept(from: listener) }
    }

    func closeConnections() {
        for socket in state.withLock({ Array($0.open.values) }) { socket.shut() }
    }

    func close() {
        let listener = change { state in
            state.isClosed = true
            // A handler may retain an object that retains the server.
            (state.routes, state.others, state.onConnection) = ([], [], nil)
            defer { state.listener = nil }
            return state.listener
        }
        listener?.shut()
        closeConnections()
    }

    /// Waits until the condition is met, or the task is canceled.
    func wait(until isMet: @escaping @Sendable (State) -> Bool) async {
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        change { $0.watchers.append(Watcher(isMet: isMet, continuation: continuation)) }
        for await _ in stream {}
    }

    /// Changes the state, and resumes the waiters whose condition is now met.
    @discardableResult
    private func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        let (result, met) = state.withLock { state in
            let result = body(&state)
            guard !state.watchers.isEmpty else { return (result, [] as [Watcher]) }
            let watchers = state.watchers
            state.watchers = watchers.filter { !$0.isMet(state) }
            return (result, watchers.filter { $0.isMet(state) })
        }
        for watcher in met { watcher.continuation.finish() }
        return result
    }

    /// Runs `body` on a thread of its own, and counts the thread. Returns `false` if the system has no thread left.
    /// When the thread ends, so does the connection it serves.
    @discardableResult
    private func start(for connection: Int? = nil, _ body: @escaping @Sendable (LoopbackCore) -> Void) -> Bool {
        state.withLock { $0.threads += 1 }
        return LoopbackThread.start(
            { [self] in body(self) },
            ended: { [self] in
                change { state in
                    // Releasing the last reference closes the socket.
                    if let connection { state.open[connection] = nil }
                    state.threads -= 1
                }
            })
    }

    private func accept(from listener: LoopbackSocket) {
        while let socket = listener.accepted() {
            let number: Int? = state.withLock { state in
                guard !state.isClosed else { return nil }
                state.connections += 1
                state.open[state.connections] = socket
                return state.connections
            }
            guard let number else { return }
            start(for: number) { core in core.serve(socket, number: number) }
        }
    }

    private func serve(_ socket: LoopbackSocket, number: Int) {
        if let handler = state.withLock({ $0.onConnection }) {
            guard let answer = socket.reply(of: handler, to: number) else { return }
            if let answer {
                _ = perform(answer.steps, on: socket)
                return
            }
        }
        var reader = LoopbackReader(socket, connection: number)
        while let request = reader.nextHead() {
            guard respond(to: request, reader: &reader, on: socket) else { return }
            if request.headers["Connection"]?.lowercased() == "close" { return }
        }
    }

    /// Reads the rest of the request and responds to it. Returns `false` if the connection has ended.
    private func respond(to head: LoopbackRequest, reader: inout LoopbackReader, on socket: LoopbackSocket) -> Bool {
        var request = head
        if let handler = state.withLock({ $0.routes.early(head) ?? $0.others.early(head) }) {
            guard let answer = socket.reply(of: handler, to: head) else { return false }
            if let answer { return answerEarly(answer, head, reader: &reader, on: socket) }
        }
        if head.headers["Expect"]?.lowercased() == "100-continue" {
            guard socket.write(LoopbackReply.head(100)) else { return false }
        }
        guard let body = reader.readBody() else { return false }
        request.body = body
        let (handler, isClosed) = change { [request] state in
            state.received.append(request)
            return (state.routes.answer(request) ?? state.others.answer(request), state.isClosed)
        }
        // It has no routes any more, which is not for the client to see.
        guard !isClosed else { return false }
        guard let handler else {
            let text = Data("no route matches \(request.method) \(request.target)".utf8)
            return perform(LoopbackReply.status(404, body: text).steps(for: request.method), on: socket)
        }
        guard let reply = socket.reply(of: handler, to: request) else { return false }
        return perform(reply.steps(for: request.method), on: socket)
    }

    private func answerEarly(
        _ reply: LoopbackReply, _ request: LoopbackRequest, reader: inout LoopbackReader, on socket: LoopbackSocket
    ) -> Bool {
        let index = change { state in
            state.received.append(request)
            return state.received.count - 1
        }
        var writer = LoopbackWriter(socket)
        for step in reply.steps(for: request.method) + [.readBody] {
            guard step == .readBody else {
                guard perform(step, with: &writer, on: socket) else { return false }
                continue
            }
            guard writer.flush(), let body = reader.readBody() else { return false }
            // The second read finds nothing left.
            if !body.isEmpty { change { $0.received[index].body = body } }
        }
        return true
    }

    /// Performs the steps. Returns `false` if the connection has ended.
    private func perform(_ steps: [LoopbackReply.Step], on socket: LoopbackSocket) -> Bool {
        var writer = LoopbackWriter(socket)
        for step in steps where !perform(step, with: &writer, on: socket) { return false }
        return writer.flush()
    }

    private func perform(
        _ step: LoopbackReply.Step, with writer: inout LoopbackWriter, on socket: LoopbackSocket
    ) -> Bool {
        if case .write(let data) = step.kind { return writer.write(data) }
        guard writer.flush() else { return false }
        switch step.kind {
        case .write, .readBody: return true
        case .drip(let data, let pause):
            for byte in data {
                guard socket.write(Data([byte])) else { return false }
                socket.pause(pause)
            }
            return true
        case .pause(let pause):
            socket.pause(pause)
            return true
        case .repeatForever(let data):
            while !data.isEmpty, socket.write(data) {}
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
}

/// Collects the pieces of a response, so that a small response is written at once.
private struct LoopbackWriter {
    /// Larger data is not worth another copy.
    private static let largest = 65_536

    private let socket: LoopbackSocket
    private var pending = Data()

    init(_ socket: LoopbackSocket) {
        self.socket = socket
    }

    mutating func write(_ data: Data) -> Bool {
        guard pending.count + data.count > Self.largest else {
            if pending.isEmpty { pending = data } else { pending += data }
            return true
        }
        return flush() && socket.write(data)
    }

    mutating func flush() -> Bool {
        defer { pending = Data() }
        return pending.isEmpty || socket.write(pending)
    }
}
