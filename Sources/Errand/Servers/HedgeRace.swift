/// Two requests of which the first good response counts. A failure waits for the other.
final class HedgeRace: Sendable {
    enum Entrant: Sendable {
        case first, second
    }

    private struct State {
        var results: [Entrant: Result<HTTPResponse, ServiceError>] = [:]
        var winner: Entrant?
        var hasSecond = false
        /// Whether the first was under way when the second won.
        var isLate = false

        var isOver: Bool { winner != nil || results.count == (hasSecond ? 2 : 1) }
    }

    private let state = Lock(State())
    /// Completes when the response is late, or when there is nothing to wait for any more.
    let due = Latch()
    /// Completes when there is a winner, or when all have ended.
    let over = Latch()

    /// The winner, and whether the other was under way when it won.
    var end: (winner: Entrant?, isLate: Bool) { state.withLock { ($0.winner, $0.isLate) } }

    /// Whether the first request has ended.
    var hasEnded: Bool { state.withLock { $0.results[.first] != nil } }

    func result(_ entrant: Entrant) -> Result<HTTPResponse, ServiceError>? { state.withLock { $0.results[entrant] } }

    /// Begins the second request, unless the first has ended. Returns whether it begins.
    func beginSecond() -> Bool {
        state.withLock { state in
            state.hasSecond = state.results.isEmpty
            return state.hasSecond
        }
    }

    func run(
        _ entrant: Entrant, isGood: (HTTPResponse) -> Bool, _ send: () async throws(ServiceError) -> HTTPResponse
    ) async {
        var result: Result<HTTPResponse, ServiceError>
        var hasWon = false
        do throws(ServiceError) {
            let response = try await send()
            (result, hasWon) = (.success(response), isGood(response))
        } catch {
            result = .failure(error)
        }
        let isOver = state.withLock { [result, hasWon] state in
            state.results[entrant] = result
            if hasWon, state.winner == nil { (state.winner, state.isLate) = (entrant, state.results.count == 1) }
            return state.isOver
        }
        due.open()
        if isOver { over.open() }
    }
}
