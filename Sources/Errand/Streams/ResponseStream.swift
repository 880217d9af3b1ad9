#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The body of a streamed response while it is read, and the call, which lasts as long.
///
/// States: idle (no reader waits for a chunk), waiting (the reader does), over. The call can be stopped in each state.
/// While the reader waits, the stop ends that wait, which then ends the call. An idle stream ends at once, so that its
/// connection is closed, and `shutdown()` does not depend on a reader that may never come back. After each wait, the
/// reader checks whether the call was stopped just then. Call/Stopping.swift says what stops a call.
final class ResponseStream: Sendable {
    private struct State {
        /// `nil` when the stream is over.
        var chunks: HTTPBody.Chunks?
        var isTaken = false
        var isWaiting = false
        /// Whether the reader says at the end of the body whether it is whole.
        var isJudged = false
        /// The error that the next read throws.
        var error: ServiceError?
        /// The number of the listener in the call's scope.
        var listener: Int?
    }

    private let call: Call
    private let end: @Sendable (ClientEvent.Kind) -> Void
    private let state: Lock<State>

    /// Creates the stream of a call that has received its response; `end` is called once, with the event that ends the
    /// call.
    init(_ chunks: HTTPBody.Chunks, of call: Call, end: @escaping @Sendable (ClientEvent.Kind) -> Void) {
        self.call = call
        self.end = end
        state = Lock(State(chunks: chunks))
        call.note(.receiving)
        let listener = call.scope.listen { [weak self] in self?.stopIfIdle() }
        let isOver = state.withLock { state in
            state.listener = listener
            return state.chunks == nil
        }
        if isOver { call.scope.removeListener(listener) }
    }

    /// The time of the call.
    var time: any TimeSource { call.time }

    /// Claims the body for a reader. Returns whether this is the first claim.
    func take() -> Bool {
        state.withLock { state in
            defer { state.isTaken = true }
            return !state.isTaken
        }
    }

    /// Leaves it to the reader to end the call after the last chunk, with `finish()` or `fail(with:)`.
    func leaveEndToReader() {
        state.withLock { $0.isJudged = true }
    }

    /// Returns the error with the name of the call.
    func naming(_ error: ServiceError) -> ServiceError { call.naming(error) }

    /// Waits for the next chunk; `nil` at the end.
    func next() async throws(ServiceError) -> Data? {
        let (chunks, error) = state.withLock { state in
            state.isWaiting = state.chunks != nil
            defer { state.error = nil }
            return (state.chunks, state.error)
        }
        if let error { throw error }
        guard let chunks else { return nil }
        do throws(ServiceError) {
            let chunk = try await next(of: chunks)
            state.withLock { $0.isWaiting = false }
            guard let chunk else {
                if !state.withLock({ $0.isJudged }) { finish() }
                return nil
            }
            // Reentrancy: a stop may have come after the wait ended, before the stream was idle.
            stopIfIdle()
            return chunk
        } catch {
            state.withLock { $0.isWaiting = false }
            throw fail(with: Task.isCancelled ? .cancelled : error.markedAsSent(call.settings.method))
        }
    }

    /// Ends the call as a success, although there may be more of the body: its reader has all it wants.
    func finish() {
        close(.succeeded(attempts: call.attempts, after: call.settings.age))
    }

    /// Ends the call with an error, its own or one of the body's reader. Returns the error, which names the call.
    func fail(with error: ServiceError) -> ServiceError {
        let error = naming(error)
        close(.ended(error, attempts: call.attempts, after: call.settings.age))
        return error
    }

    private func next(of chunks: HTTPBody.Chunks) async throws(ServiceError) -> Data? {
        try await call.run(timeout: call.rules.timeout) { (scope: CallScope) async throws(ServiceError) in
            let outcome = try await scope.result(of: { () async throws -> Data? in
                var iterator = chunks.makeAsyncIterator()
                if let chunk = try await iterator.next() { return chunk }
                // In a canceled task, iteration ends without an error although the stream has not ended.
                try Task.checkCancellation()
                return nil
            })
            do {
                return try outcome.get()
            } catch {
                throw ServiceError(error) { .transport(TransportFailure(.other, foreignName(of: $0))) }
            }
        }
    }

    private func stopIfIdle() {
        guard let reason = call.scope.reason else { return }
        let isIdle = state.withLock { state in
            guard state.chunks != nil, !state.isWaiting else { return false }
            state.error = naming(reason)
            return true
        }
        if isIdle { _ = fail(with: reason) }
    }

    private func close(_ event: ClientEvent.Kind) {
        // Releasing the chunks ends the exchange.
        let (chunks, listener) = state.withLock { state in
            defer { (state.chunks, state.listener) = (nil, nil) }
            return (state.chunks, state.listener)
        }
        if let listener { call.scope.removeListener(listener) }
        if chunks != nil { end(event) }
    }

    deinit {
        // The response was dropped before its end.
        _ = fail(with: .cancelled)
    }
}
