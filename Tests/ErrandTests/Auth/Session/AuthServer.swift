@testable import Errand
import ErrandTesting
import Foundation
import Synchronization

/// A server that gives out access tokens, rotates refresh tokens with every use, and revokes the whole session when
/// one of them comes a second time.
///
/// Its tokens tell where they come from: `ann.2` is the third access token of Ann, `refresh.ann.2` came with it.
final class AuthServer: Sendable {
    /// What a refresh comes to; it rotates unless a test says otherwise.
    enum Answer: Sendable {
        case rotate
        /// A new access token without a new refresh token.
        case withoutRefreshToken
        case fail(ServiceError)
    }

    struct Account: Sendable {
        var generation = 0
        /// Older access tokens than this one are refused.
        var oldestGood = 0
        var isRevoked = false
        /// How often each refresh token came.
        var uses: [String: Int] = [:]
    }

    private struct State {
        var accounts: [String: Account] = [:]
        var answers: [Answer] = []
        var refreshes: [String] = []
        var running: [String: Int] = [:]
        var mostAtOnce = 0
    }

    private let state = Mutex(State())
    private let clock: TestClock
    private let lifetime: Duration?
    private let takes: @Sendable () -> Duration

    /// Makes a server whose access tokens live so long, and each of whose refreshes takes so long.
    init(
        _ clock: TestClock, lifetime: Duration? = nil,
        takes: @autoclosure @escaping @Sendable () -> Duration = .seconds(1)
    ) {
        self.clock = clock
        self.lifetime = lifetime
        self.takes = takes
    }

    /// The refresh tokens that came, in order.
    var refreshes: [String] { state.withLock { $0.refreshes } }
    /// How many refreshes of one session ran at once at most.
    var mostAtOnce: Int { state.withLock { $0.mostAtOnce } }

    func account(_ user: String) -> Account? { state.withLock { $0.accounts[user] } }

    /// What the next refreshes come to, in order; those after them rotate.
    func plan(_ answers: Answer...) {
        state.withLock { $0.answers += answers }
    }

    /// Signs a user in: a new session with its first token.
    func signIn(_ user: String) -> Token {
        state.withLock { $0.accounts[user] = Account() }
        return token(user, 0)
    }

    /// Refuses the access tokens that the user has by now.
    func refuseAccess(of user: String) {
        state.withLock { state in
            guard let generation = state.accounts[user]?.generation else { return }
            state.accounts[user]?.oldestGood = generation + 1
        }
    }

    func token(_ user: String, _ generation: Int) -> Token {
        Token(
            access: "\(user).\(generation)", refresh: "refresh.\(user).\(generation)",
            expiry: lifetime.map { clock.date.addingTimeInterval($0.inSeconds) })
    }

    /// Trades a refresh token for a new pair.
    func refresh(_ old: Token) async throws -> Token {
        let parts = (old.refresh ?? "").split(separator: ".").map(String.init)
        guard parts.count == 3, let generation = Int(parts[2]) else { throw ServiceError.refused }
        let user = parts[1]
        let answer = state.withLock { state in
            state.refreshes.append(old.refresh ?? "")
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
            token.refresh = nil
            return token
        }
    }

    /// Answers a call with the name of the user whose good token it carries, or with 401.
    func answer(_ request: HTTPRequest) -> HTTPResponse {
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
    /// What a server says to a refresh token that it does not take (RFC 6749, 5.2).
    static let refused = ServiceError.rejected(
        Rejection(status: 400, message: "the refresh token is invalid", code: "invalid_grant"))
    static let reset = ServiceError.transport(TransportFailure(.reset, "scripted"))

    /// Why the session is over, if that is what this error says.
    var reason: SessionExpiry.Reason? {
        guard case .sessionExpired(let expiry) = self else { return nil }
        return expiry.reason
    }
}

/// How an operation failed; `nil` if it did not.
func failure<Value>(of operation: () async throws(ServiceError) -> Value) async -> ServiceError? {
    do throws(ServiceError) {
        _ = try await operation()
        return nil
    } catch {
        return error
    }
}
