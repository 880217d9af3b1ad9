/// What shows the sign-in page of an authorization server to the user, and learns where the server leads them then.
///
/// It is a protocol of one method, so that an app can use the system's session for sign-ins, and a test a script:
///
///     struct Session: Browser {
///         func redirect(from page: SignInPage) async throws -> String {
///             let address = try await page.address(redirectingTo: "com.example.app:/signed-in")
///             return try await showSession(address, "com.example.app")
///         }
///     }
///
/// A tool uses ``SystemBrowser``.
public protocol Browser: Sendable {
    /// Shows the page, and returns the address that the redirect of the server has led to.
    ///
    /// It must end soon after its task was canceled. If the user closes the window, throw a `CancellationError`: the
    /// sign-in is `.cancelled` then.
    func redirect(from page: SignInPage) async throws -> String
}

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

/// The page of one sign-in, for a ``Browser``.
public final class SignInPage: Sendable {
    private let begin: @Sendable (_ redirectURI: String) async throws(ServiceError) -> OAuth.SignInRequest
    private let begun = Lock<OAuth.SignInRequest?>(nil)
    /// How the sign-in ends, for a page that tells it.
    let outcome = SignInOutcome()

    init(_ begin: @escaping @Sendable (_ redirectURI: String) async throws(ServiceError) -> OAuth.SignInRequest) {
        self.begin = begin
    }

    /// Returns the address of the page, from which the server will lead to that address with the result. It must be
    /// registered with the server. Each call makes the addresses before it invalid.
    public func address(redirectingTo redirectURI: String) async throws(ServiceError) -> String {
        let request = try await begin(redirectURI)
        begun.withLock { $0 = request }
        return request.address
    }

    /// Returns whether the address has the response to this sign-in: whether its `state` is the one that the page was
    /// given. Any program and any page can open the address of a receiver.
    public func isAnswered(by address: String) -> Bool { request?.isAnswered(by: address) ?? false }

    /// The request whose page is shown; `nil` if there is none yet.
    var request: OAuth.SignInRequest? { begun.withLock { $0 } }
}
