public import Errand
import Foundation

extension Central {
    /// The signed-in account, as the server reports it.
    public struct Account: Codable, Sendable, Hashable {
        /// The number of the account.
        public let id: Int
        /// The email address.
        public let email: String
        /// The name, if the user has given one.
        public let name: String?
    }

    /// Signs in. If the address or the password is empty, nothing is sent.
    public func authenticate(email: String, password: String) async throws(ServiceError) {
        guard !email.isEmpty, !password.isEmpty else {
            throw report(.invalidRequest(InvalidRequest(.body, "Email and Password Required")), of: "POST authenticate")
        }
        let answer = try await run(.authenticate(email: email, password: password))
        await tokens.signIn(Token(accessToken: answer.token, type: "JWT"))
    }

    /// Asks the server, when the app starts, whether the saved token is still valid. Without a saved token nothing is
    /// sent. A token that the server refuses, with 401 or 403, is discarded, and the error has the server's message and
    /// status; any other failure keeps the token.
    public func checkToken() async throws(ServiceError) -> Account {
        let token: Token
        do throws(ServiceError) {
            token = try await tokens.token()
        } catch {
            throw report(error, of: "GET token")
        }
        do throws(ServiceError) {
            return try await run(.checkToken)
        } catch {
            // A user may have signed in since; that session must stay. A 403 for a rate limit is another error.
            if case .rejected(let refusal) = error, [401, 403].contains(refusal.status) {
                await tokens.signOut(of: token)
            }
            throw error
        }
    }

    /// Discards the token.
    public func signOut() async {
        await tokens.signOut()
    }

    /// Reports a failure that occurred before the call began, and returns it.
    private nonisolated func report(_ error: ServiceError, of call: String) -> ServiceError {
        reports.send(.early(error, of: call))
        return error
    }
}

extension ServiceError {
    /// The text of the app's alerts: the server's own message, if there is one.
    public var alertText: String {
        switch self {
        case .rejected(let rejection), .serverFailure(let rejection):
            rejection.message ?? "Server Error. Please try again later"
        case .signInRequired: "Invalid Token"
        case .invalidRequest(let problem): problem.reason
        default: localizedDescription
        }
    }
}

struct Authenticated: Decodable, Sendable {
    let token: String
}

extension Endpoint where Response == Authenticated {
    static func authenticate(email: String, password: String) -> Self {
        .post("authenticate", body: .json(["email": email, "password": password])).authentication(.none)
    }
}

extension Endpoint where Response == Central.Account {
    /// Formerly `checktoken`.
    static var checkToken: Self { .get("token").unwrapping("user") }
}
