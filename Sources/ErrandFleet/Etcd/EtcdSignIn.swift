import Errand

/// Exchanges the password of a user for tokens, once for all calls that wait for one.
struct EtcdSignIn: Sendable {
    private final class Problem: Sendable {
        /// Why the last exchange has failed; a token store has errors of another type.
        let last = Lock<FleetStoreError?>(nil)
    }

    private let tokens: TokenStore
    private let problem = Problem()

    init(_ credentials: EtcdCredentials, to members: EtcdMembers) {
        let endpoint = EtcdEndpoints.authenticate(EtcdUser(name: credentials.user, password: credentials.password))
        tokens = TokenStore(
            refreshTimeout: .seconds(30),
            obtain: { [problem] in
                do throws(FleetStoreError) {
                    let token = try await EtcdGateway.translating {
                        let answer = try await members.answer(to: endpoint, isRepeatable: true, token: nil)
                        return Token(accessToken: try EtcdGateway.decode(EtcdToken.self, answer).token)
                    }
                    problem.last.withLock { $0 = nil }
                    return token
                } catch {
                    problem.last.withLock { $0 = error }
                    throw error
                }
            })
    }

    /// Returns a token that was not refused yet.
    func token() async throws -> Token {
        try await explaining { () async throws(ServiceError) in try await tokens.token() }
    }

    /// Returns another token than the one that was refused.
    func replacement(for token: Token) async throws -> Token {
        try await explaining { () async throws(ServiceError) in try await tokens.replacement(for: token) }
    }

    /// Notes that the cluster has accepted a token.
    func noteAccepted(_ token: Token) { tokens.noteAccepted(token) }

    private func explaining(_ body: () async throws(ServiceError) -> Token) async throws -> Token {
        do throws(ServiceError) {
            return try await body()
        } catch {
            guard error != .cancelled, let problem = problem.last.withLock({ $0 }) else { throw error }
            throw problem
        }
    }
}
