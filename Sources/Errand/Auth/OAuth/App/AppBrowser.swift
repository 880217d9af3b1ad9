#if canImport(AuthenticationServices)
#if !os(tvOS) && !os(watchOS)
public import AuthenticationServices

/// The system's session for signing in, in an app: a sheet that shares the cookies of the user's browser, and gives the
/// app nothing but the address of the redirect.
///
///     let browser = AppBrowser(redirectURI: "com.example.app:/signed-in")
///     let token = try await oauth.signIn(scopes: ["read"], using: browser)
///
/// If the user closes the sheet, the sign-in is `.cancelled`. If the task is canceled, the sheet closes.
///
/// A scheme of the app's own needs no entry in its `Info.plist`. Another app cannot use the response, because only this
/// one has the verifier of PKCE. For an https address the app has to be associated with the site, with the service
/// `webcredentials`; if it is not, the sign-in fails with `.invalidRequest`.
///
///     let browser = AppBrowser(redirectURI: "https://example.com/signed-in")
///
/// On tvOS and watchOS, sign in on another device.
public struct AppBrowser: Browser {
    private let redirectURI: String
    private let sessions: SystemWebSessions

    /// Creates a browser.
    ///
    /// - Parameters:
    ///   - redirectURI: The address that the app has registered with the server: with a scheme of its own, or https.
    ///   - isEphemeral: Whether the session begins without the cookies of the user's browser, and forgets its own.
    ///   - anchor: Returns the window at which the sheet appears; by default a new, empty window. Pass the app's own.
    public init(
        redirectURI: String, isEphemeral: Bool = false,
        anchor: @escaping @MainActor @Sendable () -> ASPresentationAnchor = { ASPresentationAnchor() }
    ) {
        self.redirectURI = redirectURI
        sessions = SystemWebSessions(isEphemeral: isEphemeral, anchor: anchor)
    }

    /// Shows the sheet, and waits for the redirect.
    public func redirect(from page: SignInPage) async throws -> String {
        try await sessions.redirect(from: page, to: redirectURI)
    }
}
#endif
#endif
