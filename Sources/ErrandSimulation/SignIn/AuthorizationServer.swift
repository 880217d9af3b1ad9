public import Errand

/// A small authorization server for tests, which can misbehave. Its only user, Ann, agrees to everything unless
/// ``answerOfUser`` says otherwise.
///
///     let server = AuthorizationServer(time: clock)
///     server.serve(on: network)
///     let oauth = try await OAuth.discover(server.issuer, client: .public(id: "app")) { $0.transport = network }
///     let token = try await oauth.signIn(using: server.browser)
///
/// It publishes its metadata, checks the app, PKCE and the address of the redirect, and accepts a code once. A refresh
/// token is good for one use; the second use ends all tokens of that sign-in, and so does a revocation. A device gets
/// ten minutes, and is told to slow down if it asks more often than every five seconds.
///
/// Tokens are bound to a key if the app asks for it with `bindingTokens(to:)`; see ``proofNonce``. An API of your test
/// checks access tokens with ``refusal(of:)``. The server keeps no secret: tokens have numbers, ID tokens are not
/// signed, and signatures are not checked.
public final class AuthorizationServer: Sendable {
    /// What a server does wrong.
    @nonexhaustive public enum Misbehavior: Sendable, Hashable, CaseIterable {
        /// The redirect has no `state`.
        case noState
        /// The redirect has another `state`.
        case wrongState
        /// The redirect has no `iss`, although the metadata promises one.
        case noIssuer
        /// The redirect has the `iss` of another server.
        case wrongIssuer
        /// The metadata are those of another issuer.
        case foreignMetadata
        /// The metadata list only the plain method of PKCE.
        case plainChallengesOnly
        /// The metadata list no method of PKCE.
        case noChallengeMethods
        /// There is no ID token, although `openid` was requested.
        case noIDToken
        /// The redirect has each of its parameters twice.
        case repeatedParameters
        /// The redirect has a code that was used before.
        case usedCode
        /// A device that asks for its token at the agreed pace is told to slow down, the first time.
        case slowDown
    }

    /// What the user does on the sign-in page.
    @nonexhaustive public enum UserAnswer: Sendable, Hashable {
        /// Agrees.
        case agrees
        /// Refuses.
        case refuses
        /// Closes the window.
        case leaves
    }

    /// The issuer.
    public let issuer: String
    let clientID: String
    let secret: String?
    let time: any TimeSource
    let state = Lock(State())

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - issuer: The issuer, an https URL.
    ///   - clientID: The id of the only app that it knows.
    ///   - secret: The secret of the app; `nil` for a public one.
    ///   - time: The source of time.
    public init(
        issuer: String = "https://login.test", clientID: String = "app", secret: String? = nil,
        time: any TimeSource = .system
    ) {
        self.issuer = issuer
        self.clientID = clientID
        self.secret = secret
        self.time = time
    }

    /// What the server does wrong; nothing by default.
    public var misbehavior: Set<Misbehavior> {
        get { state.withLock { $0.misbehavior } }
        set { state.withLock { $0.misbehavior = newValue } }
    }

    /// What the user does; agrees by default. A user who has not agreed on another device yet is one who leaves.
    public var answerOfUser: UserAnswer {
        get { state.withLock { $0.userAnswer } }
        set { state.withLock { $0.userAnswer = newValue } }
    }

    /// How long the user takes for a page in the ``browser``; no time by default.
    public var delayOfUser: Duration {
        get { state.withLock { $0.userDelay } }
        set { state.withLock { $0.userDelay = newValue } }
    }

    /// Claims that replace those of the ID tokens; a `null` removes one. None by default.
    public var claims: [String: JSONValue] {
        get { state.withLock { $0.claims } }
        set { state.withLock { $0.claims = newValue } }
    }

    /// Whether a sign-in has to push its parameters (RFC 9126); `false` by default. They are kept for a minute.
    public var requiresPushedParameters: Bool {
        get { state.withLock { $0.requiresPushedParameters } }
        set { state.withLock { $0.requiresPushedParameters = newValue } }
    }

    /// The nonce that each proof of a key must have (DPoP, RFC 9449); `nil`, none, by default. A request with another
    /// one in its proof is refused, and the response names this one. Change it to make the app repeat a request.
    public var proofNonce: String? {
        get { state.withLock { $0.proofNonce } }
        set { state.withLock { $0.proofNonce = newValue } }
    }

    /// The tokens that were revoked, in order. They are refused from then on.
    public var revokedTokens: [String] { state.withLock { $0.revoked } }

    /// A browser in which the user does what ``answerOfUser`` says.
    public var browser: ScriptedBrowser {
        ScriptedBrowser { [self] address in
            try await time.sleep(for: delayOfUser)
            return try visit(address)
        }
    }

    /// Responds to the requests that a scripted transport receives for this server's origin.
    public func serve(on network: ScriptedTransport) {
        for (method, path) in Self.paths {
            network.on(method, issuer + path) { [self] request in .response(await respond(to: request, at: path)) }
        }
    }
}
