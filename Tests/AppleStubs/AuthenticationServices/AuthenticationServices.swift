// Declarations of Apple's, without a behavior: see Tests/AppleStubs/README.md.
// swift-format-ignore-file

// In the addresses of members, … stands for that of ASWebAuthenticationSession.

public import Foundation

#if os(macOS)
// https://developer.apple.com/documentation/appkit/nswindow
@MainActor open class NSWindow {
    public init() {}
}

// https://developer.apple.com/documentation/authenticationservices/aspresentationanchor
public typealias ASPresentationAnchor = NSWindow
#else
// https://developer.apple.com/documentation/uikit/uiwindow
@MainActor open class UIWindow {
    public init() {}
}

// https://developer.apple.com/documentation/authenticationservices/aspresentationanchor
public typealias ASPresentationAnchor = UIWindow
#endif

// https://developer.apple.com/documentation/authenticationservices/aswebauthenticationpresentationcontextproviding
public protocol ASWebAuthenticationPresentationContextProviding: NSObjectProtocol {
    @MainActor func presentationAnchor(for session: ASWebAuthenticationSession) -> ASPresentationAnchor
}

// https://developer.apple.com/documentation/authenticationservices/aswebauthenticationsession
open class ASWebAuthenticationSession: NSObject {
    // https://developer.apple.com/documentation/authenticationservices/aswebauthenticationsession/completionhandler
    public typealias CompletionHandler = @Sendable (URL?, (any Error)?) -> Void

    // https://developer.apple.com/documentation/authenticationservices/aswebauthenticationsession/callback
    open class Callback: NSObject {
        override required public init() {}
        // …/callback/customscheme(_:)
        open class func customScheme(_ customScheme: String) -> Self { Self() }
        // …/callback/https(host:path:)
        open class func https(host: String, path: String) -> Self { Self() }
    }

    // …/init(url:callback:completionhandler:)
    public init(url URL: URL, callback: Callback, completionHandler: @escaping CompletionHandler) {}
    // …/presentationcontextprovider
    open weak var presentationContextProvider: (any ASWebAuthenticationPresentationContextProviding)?
    // …/prefersephemeralwebbrowsersession
    open var prefersEphemeralWebBrowserSession: Bool { get { false } set {} }
    // https://developer.apple.com/documentation/authenticationservices/aswebauthenticationsession/start()
    @discardableResult open func start() -> Bool { false }
    // https://developer.apple.com/documentation/authenticationservices/aswebauthenticationsession/cancel()
    open func cancel() {}
}

// https://developer.apple.com/documentation/authenticationservices/aswebauthenticationsessionerror-swift.struct
public struct ASWebAuthenticationSessionError: Error {
    // …error-swift.struct/code
    public enum Code: Int, Sendable {
        case canceledLogin = 1
        case presentationContextNotProvided = 2
        case presentationContextInvalid = 3
    }

    public var code: Code { .canceledLogin }
    // https://developer.apple.com/documentation/foundation/customnserror/erroruserinfo
    public var errorUserInfo: [String: Any] { [:] }
}
