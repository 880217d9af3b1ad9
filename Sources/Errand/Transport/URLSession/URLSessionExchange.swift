#if URLSession || canImport(Darwin)
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One request, and what has been received for it.
///
/// States: not begun (a stop is remembered and keeps the task from starting), running, stopped (the task was canceled,
/// and the exchange waits for its end), ended. The response completes at the end or, as a stream, with the head;
/// whatever comes first counts.
final class URLSessionExchange: Sendable {
    typealias Chunk = Result<Data?, ServiceError>

    private struct State {
        var task: URLSessionDataTask?
        /// The reason of the stop.
        var reason: ServiceError?
        var head: HTTPResponse?
        /// The whole body or, for a streamed one, the bytes that were not read yet.
        var body = Data()
        var received = 0
        var isPaused = false
        var end: Result<Void, ServiceError>?
        /// The timings that the session has measured.
        var timings: Timings?
        var reader: CheckedContinuation<Chunk, Never>?
    }

    #if canImport(Darwin)
    private static let canPause = true
    #else
    // On Linux a resumed task starts over, and sends its request again.
    private static let canPause = false
    #endif

    /// Completes when there is a response to return, or when there never will be. It does not hold the response, whose
    /// body may retain the exchange.
    private let answer = Latch()
    private let context: TransportContext
    private let readAhead: Int
    /// Reports to the caller how much of the body has been sent, if the caller wants to know.
    private let noteSent: (@Sendable (Int) -> Void)?
    private let start: Instant
    private let state = Lock(State())

    init(_ context: TransportContext, readAhead: Int, noteSent: (@Sendable (Int) -> Void)? = nil) {
        self.noteSent = noteSent
        self.context = context
        self.readAhead = readAhead
        start = context.time.now
    }

    /// Starts the task, or cancels it if the exchange has already been stopped.
    func begin(_ task: URLSessionDataTask) {
        let isStopped = state.withLock { state in
            state.task = task
            return state.reason != nil
        }
        // A task that was never resumed is canceled too, so that the session releases it.
        if isStopped { task.cancel() } else { task.resume() }
    }

    /// Stops the exchange with that reason, unless it has ended already.
    func stop(_ reason: ServiceError) {
        let task: URLSessionDataTask? = state.withLock { state in
            guard state.end == nil, state.reason == nil else { return nil }
            state.reason = reason
            return state.task
        }
        task?.cancel()
    }

    func receive(_ response: URLResponse) {
        guard var head = HTTPResponse(response) else {
            return stop(
                .transport(TransportFailure(.malformed, "the response has an invalid status, or two lengths")))
        }
        // Interim responses (100, 103) are ignored.
        guard head.status >= 200 else { return }
        let moment = start.duration(to: context.time.now)
        head.timings = Timings(firstByte: moment, total: moment)
        let isFirst = state.withLock { [head] state in
            guard state.head == nil, state.reason == nil else { return false }
            state.head = head
            return true
        }
        guard isFirst else { return }
        context.note(.receiving)
        if context.delivery == .stream { answer.open() }
    }

    func noteSent(_ count: Int) {
        context.noteProgress()
        noteSent?(count)
    }

    func receive(_ data: Data) {
        context.noteProgress()
        let isTooLarge = state.withLock { state in
            state.received += data.count
            return state.received > context.bodyLimit
        }
        if isTooLarge { return stop(.bodyTooLarge(context.bodyLimit)) }
        let reader: CheckedContinuation<Chunk, Never>? = state.withLock { state in
            guard state.reason == nil else { return nil }
            if let reader = state.reader.take() { return reader }
            state.body.append(data)
            let isFull = context.delivery == .stream && state.body.count >= readAhead
            if Self.canPause, isFull, !state.isPaused {
                state.isPaused = true
                // Under the lock, so that no reader resumes the task before it is suspended.
                state.task?.suspend()
            }
            return nil
        }
        reader?.resume(returning: .success(data))
    }

    /// Receives the timings, which the session measures just before it ends the exchange.
    func receive(_ timings: Timings) {
        state.withLock { $0.timings = timings }
    }

    /// Ends the exchange, because its task has ended.
    func end(_ error: (any Error)?) {
        let total = start.duration(to: context.time.now)
        let (end, reader) = state.withLock { state in
            let end: Result<Void, ServiceError>
            if let reason = state.reason {
                end = .failure(reason)
            } else if let error {
                end = .failure(URLSessionFailure(error, hasAnswer: state.head != nil).error)
            } else if state.head == nil {
                end = .failure(.transport(TransportFailure(.malformed, "the response has no head")))
            } else {
                end = .success(())
            }
            state.end = end
            state.task = nil
            state.head?.timings?.total = total
            if let timings = state.timings { state.head?.timings = timings }
            return (end, state.reader.take())
        }
        reader?.resume(returning: end.map { nil })
        answer.open()
    }

    /// Returns the response: complete at the end, or with a streamed body once its head has arrived. Call it once.
    func response() async throws(ServiceError) -> HTTPResponse {
        await answer.opened()
        let (outcome, head, body) = state.withLock { state in
            (state.end ?? .success(()), state.head, context.delivery == .whole ? state.body : nil)
        }
        guard var response = head else {
            try outcome.get()
            throw .transport(TransportFailure(.malformed, "the response has no head"))
        }
        if let body {
            try outcome.get()
            response.body = .bytes(body)
        } else {
            let reader = URLSessionBodyReader(self)
            response.body = .stream(HTTPBody.Chunks(unfolding: { try await reader.nextChunk() }))
        }
        return response
    }

    /// Returns the next piece of a streamed body; `nil` at its end.
    func nextChunk() async throws(ServiceError) -> Data? {
        let chunk: Chunk = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready: Chunk? = state.withLock { state in
                    if !state.body.isEmpty {
                        defer { state.body = Data() }
                        if state.isPaused {
                            state.isPaused = false
                            state.task?.resume()
                        }
                        return .success(state.body)
                    }
                    if let end = state.end { return end.map { nil } }
                    // A stream has one reader; a second one receives nothing.
                    guard state.reader == nil else { return .success(nil) }
                    state.reader = continuation
                    return nil
                }
                if let ready { continuation.resume(returning: ready) }
            }
        } onCancel: {
            stop(.cancelled)
        }
        return try chunk.get()
    }
}

/// The reader of a streamed body. When it is released, the rest is not needed.
private final class URLSessionBodyReader: Sendable {
    private let exchange: URLSessionExchange

    init(_ exchange: URLSessionExchange) {
        self.exchange = exchange
    }

    func nextChunk() async throws(ServiceError) -> Data? {
        try await exchange.nextChunk()
    }

    deinit {
        exchange.stop(.cancelled)
    }
}
#endif
