/// A ``Browser`` that is a closure, such as one that shows a web view.
public struct CustomBrowser: Browser {
    private let redirectURI: String
    private let show: @Sendable (String) async throws -> String

    /// Creates a browser.
    ///
    /// - Parameters:
    ///   - redirectURI: The address that the app has registered with the server.
    ///   - show: Shows the page at an address, and returns the address that the redirect of the server has led to. It
    ///     must end soon after its task was canceled. A `CancellationError` means that the user has closed the window.
    public init(redirectURI: String, _ show: @escaping @Sendable (_ address: String) async throws -> String) {
        self.redirectURI = redirectURI
        self.show = show
    }

    /// Calls the closure.
    public func redirect(from page: SignInPage) async throws -> String {
        try await show(try await page.address(redirectingTo: redirectURI))
    }
}
