#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Who is signed in, and what the program keeps about them.
extension TokenStore {
    private static let largestKept = 64 << 10

    /// Whether a user is signed in. Loads the saved session if necessary.
    public var isSignedIn: Bool {
        get async {
            // If the session cannot be loaded, no user is signed in. A canceled caller still waits for the load,
            // because a cancellation signs no user out.
            await load()
            return presentSession != nil
        }
    }

    /// The token of the user who is signed in, as it is, without a request; `nil` if nobody is. Loads the saved session
    /// if necessary. It may have expired: for a request, use ``token()``.
    ///
    ///     if let user = await tokens.current?.claims?.name { greet(user) }
    public var current: Token? {
        get async {
            await load()
            return live.token
        }
    }

    /// Begins a session with that token, and keeps a value of yours with it, such as the user: it is saved where the
    /// token is, survives each refresh, and goes at the sign-out.
    ///
    ///     try await tokens.signIn(token, keeping: user)
    ///
    /// ``kept(as:)`` returns it.
    ///
    /// Throws `.invalidRequest`, and signs nobody in, if the value cannot be encoded as JSON, or has more than 64 KiB.
    public func signIn(_ token: Token, keeping value: some Encodable & Sendable) async throws(ServiceError) {
        let data: Data
        do {
            data = try JSONEncoder().encode(value)
        } catch {
            throw .badSetting("what a session is to keep cannot be encoded: \(foreignName(of: error))")
        }
        guard data.count <= Self.largestKept else {
            throw .badSetting("a session keeps up to \(Self.largestKept) bytes, and not \(data.count)")
        }
        await begin(token, keeping: data)
    }

    /// Returns the value that was given to the session when it began; `nil` if nobody is signed in, or there is none.
    ///
    ///     let user = try await tokens.kept(as: User.self)
    ///
    /// Loads the saved session if necessary. Throws `.decodingFailed` if it is of another form, because an older
    /// version of the program has kept it for example.
    public func kept<Value: Decodable>(as type: Value.Type) async throws(ServiceError) -> Value? {
        await load()
        guard let data = live.kept else { return nil }
        do {
            return try JSONDecoder().decode(type, from: data)
        } catch {
            let cause = DecodingFailure.Cause(error, decoding: type, isQuoting: false)
            throw .decodingFailed(DecodingFailure(path: cause.path, expected: cause.expected, found: cause.found))
        }
    }
}
