/// How a sign-in ends, for the page on which the user has signed in: it tells that only when the program knows.
final class SignInOutcome: Sendable {
    private struct State {
        var hasSucceeded: Bool?
        var wakeUp: (@Sendable () -> Void)?
        var ended: Latch?
    }

    private let state = Lock(State())

    /// Whether the sign-in has succeeded; `nil` if it is under way.
    var hasSucceeded: Bool? { state.withLock { $0.hasSucceeded } }

    /// Notes that a page waits to be told, and what completes when it has been.
    func waits(for ended: Latch, _ wakeUp: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            (state.wakeUp, state.ended) = (wakeUp, ended)
            return state.hasSucceeded != nil
        }
        if isOver { wakeUp() }
    }

    /// Tells the end, and waits until the browser has the page: shortly after that the program may end.
    func end(hasSucceeded: Bool) async {
        let (wakeUp, ended) = state.withLock { state in
            state.hasSucceeded = hasSucceeded
            return (state.wakeUp, state.ended)
        }
        wakeUp?()
        await ended?.opened()
    }
}
