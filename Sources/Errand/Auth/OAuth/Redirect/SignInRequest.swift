#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension OAuth {
    /// A sign-in that has begun: an authorization request with PKCE (RFC 7636), and the check of its response.
    ///
    /// A server that signs in the users of its own pages needs it: one request of the browser begins the sign-in, and
    /// another one brings the response. Programs that wait for the user call
    /// ``OAuth/signIn(scopes:using:within:parameters:pushesParameters:)``.
    ///
    ///     let request = try await oauth.signInRequest(scopes: ["read"], redirectURI: "https://example.com/signed-in")
    ///     // Keep the request with the session of the browser, and redirect the browser to request.address. Then:
    ///     let token = try await request.token(redirectedTo: address)
    ///
    /// It holds secrets, which its description does not show.
    public final class SignInRequest: Sendable {
        /// The address of the page on which the user signs in.
        public let address: String

        /// When the address expires, because the server has received the parameters of the sign-in already and keeps
        /// them for a short time (RFC 9126); `nil` if it does not expire. Begin another sign-in after that.
        public var expiry: Date? { pushed?.end?.date }

        private let oauth: OAuth
        private let scopes: [String]
        private let redirectURI: String
        private let secrets: SignInSecrets
        private let demands: SignInDemands
        private let pushed: PushedParameters?
        private let isUsed = Lock(false)

        init(
            _ oauth: OAuth, scopes: [String], redirectURI: String, secrets: SignInSecrets, demands: SignInDemands,
            address: String, pushed: PushedParameters?
        ) {
            self.oauth = oauth
            self.scopes = scopes
            self.redirectURI = redirectURI
            self.secrets = secrets
            self.demands = demands
            self.address = address
            self.pushed = pushed
        }

        /// What an archive of a sign-in contains.
        private struct Archive: Codable {
            let address: String
            let clientID: String
            let issuer: String?
            let scopes: [String]
            let redirectURI: String
            let secrets: SignInSecrets
            let demands: SignInDemands
            let proofKey: Data?
        }

        /// The sign-in in a form that can be saved, so that another process can check its response: after a restart, or
        /// another instance of a server. Whoever has it can finish the sign-in, so keep it like a password, with the
        /// session of the browser that began it, and remove it when it has been used: an archive does not know that.
        ///
        ///     let request = try oauth.signInRequest(restoring: archive)
        public func archive() throws(ServiceError) -> Data {
            let archive = Archive(
                address: address, clientID: oauth.app.id, issuer: oauth.metadata?.issuer, scopes: scopes,
                redirectURI: redirectURI, secrets: secrets, demands: demands,
                proofKey: oauth.proofKey?.rawRepresentation)
            do {
                return try JSONEncoder().encode(archive)
            } catch {
                throw .badSetting("the sign-in cannot be archived: \(foreignName(of: error))")
            }
        }

        fileprivate convenience init(restoring data: Data, by oauth: OAuth) throws(ServiceError) {
            let archive: Archive
            do {
                archive = try JSONDecoder().decode(Archive.self, from: data)
            } catch {
                throw .badSetting("this is no archive of a sign-in")
            }
            guard archive.clientID == oauth.app.id, archive.issuer == oauth.metadata?.issuer,
                archive.proofKey == oauth.proofKey?.rawRepresentation
            else { throw .badSetting("the sign-in was begun by another app, at another server, or with another key") }
            self.init(
                oauth, scopes: archive.scopes, redirectURI: archive.redirectURI, secrets: archive.secrets,
                demands: archive.demands, address: archive.address, pushed: nil)
        }

        /// Returns whether an address has the response to this request: whether its `state` is that of the request.
        public func isAnswered(by address: String) -> Bool {
            (try? RedirectAnswer(address).value("state")) == secrets.state
        }

        /// Checks the address to which the server has led the browser, and exchanges the code in it for a token.
        ///
        /// If the address does not belong to this request, or was used before, nothing is exchanged, and this throws
        /// `.decodingFailed` with the name of the parameter as the path. If the server or the user has refused, it
        /// throws `.rejected` with the server's code, such as `access_denied`.
        public func token(redirectedTo address: String) async throws(ServiceError) -> Token {
            let answer = RedirectAnswer(address)
            // First of all: what another page has made up says nothing about this sign-in, not even that it has failed.
            guard let state = try answer.value("state"), state == secrets.state else {
                throw .unlike("state", expected: "that of this sign-in", found: "another one, or none")
            }
            try checkIssuer(in: answer)
            let isFirst = isUsed.withLock { isUsed in
                defer { isUsed = true }
                return !isUsed
            }
            guard isFirst else { throw .unlike("state", expected: "one answer", found: "a second one") }
            if let code = try answer.value("error") {
                throw .rejected(refusal(code, try answer.value("error_description")))
            }
            guard let code = try answer.value("code") else { throw .unlike("code", expected: "a code", found: "none") }
            return try await oauth.token(
                for: code, redirectURI: redirectURI, secrets: secrets, demands: demands, scopes: scopes)
        }

        /// Refuses the response of another server (RFC 9207): a user who was led to a false one must not have its code
        /// exchanged, or the code of the right one sent there. A refusal brings no code, and some servers that promise
        /// their issuer leave it out there.
        private func checkIssuer(in answer: RedirectAnswer) throws(ServiceError) {
            guard let metadata = oauth.metadata else { return }
            let found = try answer.value("iss")
            let isRefusal = try answer.value("error") != nil
            guard found != nil || metadata.namesIssuerInRedirect && !isRefusal else { return }
            guard let issuer = metadata.issuer else { return }
            guard found == issuer else {
                throw .unlike("iss", expected: issuer, found: found == nil ? "nothing" : "another issuer")
            }
        }

        private func refusal(_ code: String, _ description: String?) -> Rejection {
            let redactor = Redactor(hiding: secrets.all)
            func shown(_ text: String) -> String { redactor.beginning(of: text.utf8, length: 500).text }
            // A redirect has brought it.
            var message = shown(description ?? code)
            if let pushed, pushed.haveExpired(at: oauth.server.time.date, says: code) {
                message += ": \(pushed.expiryText)"
            }
            return Rejection(status: 302, message: message, code: shown(code))
        }
    }
}

extension OAuth {
    /// Returns a sign-in that was begun by this process or another one, from its ``SignInRequest/archive()``.
    ///
    /// Throws `.invalidRequest` if the archive is damaged, or the sign-in was begun by another app, at another server,
    /// or with another key.
    public func signInRequest(restoring archive: Data) throws(ServiceError) -> SignInRequest {
        try refuseStranger(namingItself: metadata?.namesIssuerInRedirect == true)
        return try SignInRequest(restoring: archive, by: self)
    }
}

extension OAuth.SignInRequest: OpaqueReflectable {
    /// The server, without the parameters of the request.
    public var description: String { "SignInRequest(\(oauth))" }
}

/// The values that bind the response of a sign-in to the program that began it.
struct SignInSecrets: Sendable, Codable {
    /// Binds the redirect to the request.
    var state = SystemRandom.text()
    /// Binds the code to this program: only who knows the verifier can exchange it.
    var verifier = SystemRandom.text()

    /// Binds the ID token to the request.
    var nonce = SystemRandom.text()

    /// What goes along with the request in place of the verifier.
    var challenge: String { Base64URL.encode(SHA256.hash(of: Data(verifier.utf8))) }

    var all: [String] { [state, verifier, nonce] }
}
