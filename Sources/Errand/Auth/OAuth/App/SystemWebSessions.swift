#if canImport(AuthenticationServices)
#if !os(tvOS) && !os(watchOS)
import AuthenticationServices
import Foundation

/// The sessions of AuthenticationServices.
struct SystemWebSessions: WebSessions {
    let isEphemeral: Bool
    let anchor: @MainActor @Sendable () -> ASPresentationAnchor

    @MainActor func start(
        _ address: String, until callback: WebSessionCallback, onEnd: @escaping @Sendable (WebSessionEnd) -> Void
    ) -> @MainActor () -> Void {
        guard let url = URL(string: address) else {
            onEnd(.notStarted)
            return {}
        }
        // Without `@Sendable` it would belong to the main actor, and end the program if the system calls it elsewhere.
        let session = ASWebAuthenticationSession(url: url, callback: callback.systemCallback) {
            @Sendable (found: URL?, error: (any Error)?) in
            onEnd(WebSessionEnd(found, error))
        }
        let window = Window(anchor: anchor)
        session.presentationContextProvider = window
        session.prefersEphemeralWebBrowserSession = isEphemeral
        if !session.start() { onEnd(.notStarted) }
        return {
            session.cancel()
            // The session does not keep it.
            withExtendedLifetime(window) {}
        }
    }

    /// Where the session appears.
    private final class Window: NSObject, ASWebAuthenticationPresentationContextProviding {
        private let anchor: @MainActor @Sendable () -> ASPresentationAnchor

        init(anchor: @escaping @MainActor @Sendable () -> ASPresentationAnchor) { self.anchor = anchor }

        // The framework calls it on the main thread; not all versions of its interface say so.
        func presentationAnchor(for session: ASWebAuthenticationSession) -> ASPresentationAnchor {
            MainActor.assumeIsolated { anchor() }
        }
    }
}

extension WebSessionCallback {
    fileprivate var systemCallback: ASWebAuthenticationSession.Callback {
        switch self {
        case .scheme(let scheme): .customScheme(scheme)
        case .https(let host, let path): .https(host: host, path: path)
        }
    }
}

extension WebSessionEnd {
    fileprivate init(_ found: URL?, _ error: (any Error)?) {
        if let found {
            self = .redirect(found.absoluteString)
        } else if let error = error as? ASWebAuthenticationSessionError {
            let reasons = [NSLocalizedFailureReasonErrorKey, NSDebugDescriptionErrorKey]
            self = .failure(
                code: error.code.rawValue, reason: reasons.lazy.compactMap { error.errorUserInfo[$0] as? String }.first)
        } else {
            self = error.map { .other("\(type(of: $0))") } ?? .notStarted
        }
    }
}
#endif
#endif
