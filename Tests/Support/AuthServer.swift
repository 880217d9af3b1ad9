package import Errand
package import ErrandTesting
import Foundation

/// A server that issues access tokens, rotates refresh tokens with every use, and revokes the whole session when a
/// refresh token is used twice.
///
/// The names of its tokens show their origin: `ann.2` is the third access token of Ann, `refresh.ann.2` came with it.
package final class AuthServer: Sendable {
    /// The result of a refresh; by default it rotates.
    package enum Answer: Sendable {
        case rotate
        /// A new access token without a new refresh token.
        case withoutRefreshToken
        case fail(ServiceError)
    }

    package struct Account: Sendable {
        package var generation = 0
        /// The number of the oldest access token that is accepted.
        package var oldestGood = 0
        package var isRevoked = false
        /// How often each refresh token was used.
        package var uses: [String: Int] = [:]
    }

    private struct State {
        var accounts: [String: Account] = [:]
        var answers: [Answer] = []
        var refreshes: [String] = []
        var running: [String: Int] = [:]
        var mostAtOnce = 0
    }

    private let state = Lock(State())
    private let clock: TestClock
    private let lifetime: Duration?
    private let takes: @Sendable () -> Duration

    /// Creates a server with that lifetime for access tokens and that duration for each refresh.
    package init(
        _ clock: TestClock, lifetime: Duration? = nil,
        takes: @autoclosure @escaping @Sendable () -> Duration = .seconds(1)
    ) {
        self.clock = clock
        self.lifetime = lifetime
        self.takes = takes
    }

    /// The refresh tokens that were used, in order.
    package var refreshes: [String] { state.withLock { $0.refreshes } }
    /// The largest number of refreshes of one session that ran at once.
    package var mostAtOnce: Int { state.withLock { $0.mostAtOnce } }

    package func account(_ user: String) -> Account? { state.withLock { $0.accounts[user] } }

    /// Sets the results of the next refreshes, in order; those after them rotate.
    package func plan(_ answers: Answer...) {
        state.withLock { $0.answers += answers }
    }

    /// Signs a user in: creates a new session with its first token.
    package func signIn(_ user: String) -> Token {
        state.withLock { $0.accounts[user] = Account() }
        return token(user, 0)
    }

    /// Refuses the access tokens that the user has so far.
    package func refuseAccess(of user: String) {
        state.withLock { state in
            guard let generation = state.accounts[user]?.generation else { return }
            state.accounts[user]?.oldestGood = generation + 1
        }
    }

    package func token(_ user: String, _ generation: Int) -> Token {
        Token(
            accessToken: "\(user).\(generation)", refreshToken: "refresh.\(user).\(generation)",
            expiry: lifetime.map { clock.date.addingTimeInterval($0.inSeconds) })
    }

    /// Exchanges a refresh token for a new pair.
    package func refresh(_ old: Token) async throws -> Token {
        let parts = (old.refreshToken ?? "").split(separator: ".").map(String.init)
        guard parts.count == 3, let generation = Int(parts[2]) else { throw ServiceError.refused }
        let user = parts[1]
        let answer = state.withLock { state in
            state.refreshes.append(old.refreshToken ?? "")
            let running = state.running[user, default: 0] + 1
            state.running[user] = running
            state.mostAtOnce = max(state.mostAtOnce, running)
            return state.answers.isEmpty ? .rotate : state.answers.removeFirst()
        }
        defer { state.withLock { $0.running[user, default: 1] -= 1 } }
        try await clock.sleep(for: takes())
        switch answer {
        case .fail(let error): throw error
        case .rotate: return try rotate(user, generation)
        case .withoutRefreshToken:
            let next = state.withLock { state in
                state.accounts[user]?.generation += 1
                return state.accounts[user]?.generation ?? 0
            }
            var token = token(user, next)
            token.refreshToken = nil
            return token
        }
    }

    /// Responds with the name of the user whose valid token the request carries, or with 401.
    package func answer(_ request: HTTPRequest) -> HTTPResponse {
        let parts = (request.headers["Authorization"] ?? "").dropFirst("Bearer ".count).split(separator: ".")
        let isGood = state.withLock { state in
            guard parts.count == 2, let generation = Int(parts[1]), let account = state.accounts[String(parts[0])]
            else {
                return false
            }
            return !account.isRevoked && generation >= account.oldestGood
        }
        guard isGood else { return HTTPResponse(status: 401) }
        return HTTPResponse(
            status: 200, headers: ["Content-Type": "application/json"], body: .bytes(Data("\"\(parts[0])\"".utf8)))
    }

    private func rotate(_ user: String, _ generation: Int) throws -> Token {
        let isAllowed = state.withLock { state in
            guard var account = state.accounts[user] else { return false }
            defer { state.accounts[user] = account }
            account.uses["refresh.\(user).\(generation)", default: 0] += 1
            if generation != account.generation { account.isRevoked = true }
            guard !account.isRevoked else { return false }
            account.generation += 1
            return true
        }
        guard isAllowed else { throw ServiceError.refused }
        return token(user, generation + 1)
    }
}

extension ServiceError {
    /// The error for a refresh token that the server refuses (RFC 6749, 5.2).
    package static let refused = ServiceError.rejected(
        Rejection(status: 400, message: "the refresh token is invalid", code: "invalid_grant"))
    package static let reset = ServiceError.transport(TransportFailure(.reset, "scripted"))

    /// The code with which a server has rejected a request, if it has.
    package var refusalCode: String? {
        if case .rejected(let rejection) = self { rejection.code } else { nil }
    }

    /// The path of what an authorization server or a redirect should not have said.
    package var refusedPath: String? {
        guard case .decodingFailed(let failure) = self else { return nil }
        return failure.path
    }

    /// The reason why the session has ended, if this error says so.
    package var reason: SessionExpiry.Reason? {
        guard case .sessionExpired(let expiry) = self else { return nil }
        return expiry.reason
    }
}

/// Returns the error that an operation throws; `nil` if it throws none.
package func failure<Value>(of operation: () async throws(ServiceError) -> Value) async -> ServiceError? {
    do throws(ServiceError) {
        _ = try await operation()
        return nil
    } catch {
        return error
    }
}
