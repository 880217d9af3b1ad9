#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The browser of the system, whose response a receiver on this machine takes (RFC 8252): for tools, and for apps on
/// Linux.
///
///     let token = try await oauth.signIn(scopes: ["read"], using: .systemBrowser)
///
/// It prints the address of the page to standard error and opens it with `xdg-open`, or `open` on macOS. Meanwhile it
/// listens at the literal address 127.0.0.1, at a port that the system chooses, which a server has to allow for such
/// apps. It accepts one request, which has the path and the `state` of this sign-in, and responds with a page that says
/// that the user can go back. All other requests get a 404 and change nothing. When the sign-in ends, in whatever way,
/// nothing listens any more.
///
/// If the browser is on another machine, it cannot reach the receiver: the user copies the address that it failed to
/// open, and pastes it into the terminal.
///
///     let browser = SystemBrowser(acceptsPastedAddress: true)
public struct SystemBrowser: Browser {
    /// How the address of the page is shown.
    ///
    /// It holds no secret of the app or of the user. But anyone who can read it while the sign-in waits, in the list of
    /// processes for example, can finish the sign-in with their own account: see ``OAuth``.
    public typealias Show = @Sendable (_ address: String) -> Void

    var limits = ReceiverLimits()
    private let redirectURI: String
    private let acceptsPastedAddress: Bool
    private let announce: Show?
    private let open: Show?

    /// Creates a browser.
    ///
    /// - Parameters:
    ///   - redirectURI: The address at which it listens, as it is registered with the server: plain http with the host
    ///     `127.0.0.1`, `[::1]` or `localhost`, and any path. Without a port, the system chooses one.
    ///   - acceptsPastedAddress: Whether a line of standard input may be the address of the redirect. Meanwhile the
    ///     program must not read from it.
    ///   - announce: Shows the address of the page; if `nil`, prints it to standard error.
    ///   - open: Opens the address; if `nil`, asks the system to. It may block for a moment.
    public init(
        redirectURI: String = "http://127.0.0.1/", acceptsPastedAddress: Bool = false, announce: Show? = nil,
        open: Show? = nil
    ) {
        self.redirectURI = redirectURI
        self.acceptsPastedAddress = acceptsPastedAddress
        self.announce = announce
        self.open = open
    }

    /// Opens the page, and waits for the redirect.
    public func redirect(from page: SignInPage) async throws -> String {
        let receiver = try LoopbackReceiver(redirectURI, input: acceptsPastedAddress ? 0 : nil, limits: limits)
        let address = try await page.address(redirectingTo: receiver.redirectURI)
        try Task.checkCancellation()
        if let announce { announce(address) } else { Self.print(address, andPaste: acceptsPastedAddress) }
        let open = open ?? Self.openBySystem
        return try await receiver.answer(isAnswer: page.isAnswered, telling: page.outcome) { open(address) }
    }

    private static func print(_ address: String, andPaste acceptsPastedAddress: Bool) {
        let advice = "If the browser is on another machine, paste the address at which it ends up here:"
        StandardError.print("Open this page to sign in:\n\(address)\(acceptsPastedAddress ? "\n\(advice)" : "")")
    }

    private static func openBySystem(_ address: String) {
        #if os(Linux) || os(macOS)
        SystemOpener.open(address)
        #endif
    }
}

extension Browser where Self == SystemBrowser {
    /// The browser of the system, with a receiver at a free port of 127.0.0.1.
    public static var systemBrowser: SystemBrowser { SystemBrowser() }
}
