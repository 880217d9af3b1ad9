/// The address at which a session of the system ends: one of the app's own scheme, or one of the app's own site.
enum WebSessionCallback: Sendable, Hashable {
    case scheme(String)
    case https(host: String, path: String)

    /// Reads the registered address of a redirect.
    init(_ redirectURI: String) throws(ServiceError) {
        guard let colon = redirectURI.firstIndex(of: ":"), Self.isScheme(redirectURI[..<colon].utf8) else {
            throw .badURL(redirectURI, "a redirect to an app has a scheme, such as com.example.app:/signed-in")
        }
        switch redirectURI[..<colon].lowercased() {
        case "https":
            let url = try HTTPURL(redirectURI)
            guard url.origin.port == 443, url.query == nil, !redirectURI.contains("#") else {
                throw .badURL(redirectURI, "the system watches for an https address without a port and a query")
            }
            self = .https(host: url.origin.host, path: url.path)
        case "http": throw .badURL(redirectURI, "an app receives redirects to its own scheme, or to https")
        case let scheme: self = .scheme(scheme)
        }
    }

    /// Returns whether the text is a scheme (RFC 3986, 3.1).
    private static func isScheme(_ text: Substring.UTF8View) -> Bool {
        guard let first = text.first, (0x61...0x7A).contains(first.asciiLowercased) else { return false }
        return text.allSatisfy { PercentEncoding.isAlphanumeric($0) || "+-.".utf8.contains($0) }
    }
}

/// How a session of the system ends, with the numbers of AuthenticationServices, which Linux does not have.
enum WebSessionEnd: Sendable {
    case redirect(String)
    /// An error of the framework, and the reason that it names.
    case failure(code: Int, reason: String?)
    /// Another error, by its name.
    case other(String)
    /// The session could not begin.
    case notStarted

    /// The user has closed the window; or, with a reason, the system has not opened it.
    static let canceledLogin = 1
    static let contextNotProvided = 2
    static let contextInvalid = 3

    /// What the end means for a sign-in.
    func result(at callback: WebSessionCallback) -> Result<String, ServiceError> {
        switch self {
        case .redirect(let address): .success(address)
        case .failure(Self.canceledLogin, nil): .failure(.cancelled)
        // The system reports a site that is not the app's with the number of a user who gives up, and a reason.
        case .failure(Self.canceledLogin, let reason?): .failure(.badSetting(callback.advice(after: reason)))
        case .failure(Self.contextNotProvided, _), .failure(Self.contextInvalid, _):
            .failure(.badSetting("the session has no window of the app to appear at; pass `anchor`"))
        case .failure(let code, let reason):
            .failure(Self.failure("the session failed with the number \(code)\(reason.map { ": \($0)" } ?? "")"))
        case .other(let name): .failure(Self.failure("the session failed with \(name)"))
        case .notStarted: .failure(Self.failure("the system could not begin a session to sign in"))
        }
    }

    private static func failure(_ words: String) -> ServiceError {
        .transport(TransportFailure(.other, words.printable, mayHaveReachedServer: false))
    }
}

extension WebSessionCallback {
    fileprivate func advice(after reason: String) -> String {
        let advice =
            switch self {
            case .scheme: "use a redirect to a scheme of the app"
            case .https(let host, _):
                "add webcredentials:\(host) to the Associated Domains of the app and the app to that site, or use a "
                    + "redirect to a scheme of the app"
            }
        return "the system refused the session: \(reason.printable); \(advice)"
    }
}

/// The sessions of the system: in a test, those of a script.
protocol WebSessions: Sendable {
    /// Shows a page in a new session, and returns what cancels it. `onEnd` runs when the session ends, on any thread;
    /// what it is given after the first time changes nothing.
    @MainActor func start(
        _ address: String, until callback: WebSessionCallback, onEnd: @escaping @Sendable (WebSessionEnd) -> Void
    ) -> @MainActor () -> Void
}

extension WebSessions {
    /// Shows the page of a sign-in, and returns the address that the redirect has led to.
    ///
    /// It never waits for the system to notice a cancellation: whether that ends a session with an error or silently
    /// differs between versions.
    func redirect(from page: SignInPage, to redirectURI: String) async throws(ServiceError) -> String {
        let callback = try WebSessionCallback(redirectURI)
        let address = try await page.address(redirectingTo: redirectURI)
        guard !Task.isCancelled else { throw .cancelled }
        let ended = Promise<String, ServiceError>()
        let cancel = await start(address, until: callback) { end in ended.complete(end.result(at: callback)) }
        do throws(ServiceError) {
            return try await ended.value()
        } catch {
            // It is the session's owner, too: without it the session would end at once.
            if ended.outcome == nil { await cancel() }
            throw error
        }
    }
}
