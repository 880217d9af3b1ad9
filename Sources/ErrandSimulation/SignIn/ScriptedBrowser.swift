public import Errand

/// A browser whose user follows a script: a closure takes the address of the sign-in page and returns the address that
/// the redirect leads to.
///
///     let browser = ScriptedBrowser { address in try server.visit(address) }
///     let token = try await oauth.signIn(using: browser)
public struct ScriptedBrowser: Browser {
    private let browser: CustomBrowser

    /// Creates a browser.
    ///
    /// - Parameters:
    ///   - redirectURI: The address that the app has registered with the server.
    ///   - visit: Takes the address of the page, and returns that of the redirect. A `CancellationError` means that the
    ///     user closes the window.
    public init(
        redirectURI: String = "https://app.test/signed-in", _ visit: @escaping @Sendable (String) async throws -> String
    ) {
        browser = CustomBrowser(redirectURI: redirectURI, visit)
    }

    /// Calls the closure.
    public func redirect(from page: SignInPage) async throws -> String {
        try await browser.redirect(from: page)
    }
}
