/// A transmission that several calls share, or that belongs to none.
///
/// It runs in a task of its own, whose owner is the client: `shutdown()` stops the transmission and waits for its end.
/// A call that leaves does not disturb the others. When the last has left, the transmission is stopped, unless it was
/// started to finish without a call.
///
/// States: running, given up (the last call has left; no other can join), over.
final class SharedTransmission: Sendable {
    private struct State {
        var calls = 0
        var isGivenUp = false
    }

    let transmission: Transmission
    private let finishesAlone: Bool
    private let response = Promise<HTTPResponse, ServiceError>()
    private let state = Lock(State())

    init(_ transmission: Transmission, finishesAlone: Bool) {
        self.transmission = transmission
        self.finishesAlone = finishesAlone
    }

    /// Waits for the response, for a call that joins. Returns `nil` if the transmission has been given up: then the
    /// call needs another.
    func response(for call: Call) async throws(ServiceError) -> HTTPResponse? {
        let isOpen = state.withLock { state in
            if !state.isGivenUp { state.calls += 1 }
            return !state.isGivenUp
        }
        guard isOpen else { return nil }
        defer { leave() }
        call.join(transmission)
        return try await call.run { (scope: CallScope) async throws(ServiceError) in
            try await response.value(in: scope)
        }
    }

    /// Waits for the end, whatever the response is.
    func ended() async {
        await response.completion()
    }

    /// Runs the transmission in a task of its own, and calls `ended` at its end.
    func start(
        _ send: @escaping @Sendable () async throws(ServiceError) -> HTTPResponse, ended: @escaping @Sendable () -> Void
    ) {
        Task(executorPreference: transmission.time.executor) {
            do throws(ServiceError) {
                self.response.complete(.success(try await send()))
            } catch {
                self.response.complete(.failure(error))
            }
            ended()
        }
    }

    private func leave() {
        let isLast = state.withLock { state in
            state.calls -= 1
            guard state.calls == 0, !finishesAlone else { return false }
            state.isGivenUp = true
            return true
        }
        // After its end, this does nothing.
        if isLast { transmission.stop(.cancelled) }
    }
}
