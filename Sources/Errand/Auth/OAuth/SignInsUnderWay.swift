extension OAuth {
    /// Shuts down the clients of the authorization server: running requests are canceled, and sign-ins that wait for
    /// the user throw `.cancelled`, on another device once `show` has returned. Later ones fail with `.invalidRequest`
    /// of the subject `.clientShutDown`.
    ///
    ///     await client.shutdown()
    ///     await oauth.shutdown()
    ///     await tokens.waitUntilSaved()
    ///
    /// A refresh or a revocation that a `TokenStore` has begun finishes first, as in ``APIClient/shutdown()``. It also
    /// shuts down the copies of this value, such as the result of ``bindingTokens(to:)``.
    ///
    /// A client that you have passed to
    /// ``init(server:tokenPath:clientID:clientSecret:credentials:tokenType:parameters:)`` is yours and goes on: shut it
    /// down yourself.
    public func shutdown() async {
        signIns.close()
        await server.shutdown()
    }
}

/// The sign-ins that wait for a user, which are no calls of a client for most of their time.
///
/// Behind a lock and not an actor, because a sign-in begins and ends without a wait.
final class SignInsUnderWay: Sendable {
    private struct State {
        var scopes: [Int: CallScope] = [:]
        var lastID = 0
        var isClosed = false
    }

    private let state = Lock(State())

    /// Notes a sign-in, which a shutdown stops. Returns its number.
    func begin(_ scope: CallScope) throws(ServiceError) -> Int {
        let id: Int? = state.withLock { state in
            guard !state.isClosed else { return nil }
            state.lastID += 1
            state.scopes[state.lastID] = scope
            return state.lastID
        }
        guard let id else {
            throw .invalidRequest(
                InvalidRequest(.clientShutDown, "the clients of the authorization server have been shut down"))
        }
        return id
    }

    /// Forgets the sign-in with that number.
    func end(_ id: Int) {
        state.withLock { $0.scopes[id] = nil }
    }

    /// Stops all sign-ins, and prevents new ones.
    func close() {
        let scopes = state.withLock { state in
            defer { state.scopes = [:] }
            state.isClosed = true
            return Array(state.scopes.values)
        }
        for scope in scopes { scope.stop(.cancelled) }
    }
}
