// Declarations of Apple's, without a behavior: see Tests/AppleStubs/README.md.
// swift-format-ignore-file

// https://developer.apple.com/documentation/foundation/url-loading-system

// https://developer.apple.com/documentation/foundation/urlrequest
public struct URLRequest: Sendable, Hashable {
    public enum CachePolicy: UInt, Sendable {
        case useProtocolCachePolicy = 0
        case reloadIgnoringLocalCacheData = 1
        case returnCacheDataElseLoad = 2
    }

    public init(url: URL, cachePolicy: CachePolicy = .useProtocolCachePolicy, timeoutInterval: TimeInterval = 60.0) {}
    public var url: URL? {
        get { nil }
        set {}
    }
    public var httpMethod: String? {
        get { nil }
        set {}
    }
    public var httpBody: Data? {
        get { nil }
        set {}
    }
    public var httpBodyStream: InputStream? {
        get { nil }
        set {}
    }
    public var httpShouldHandleCookies: Bool {
        get { false }
        set {}
    }
    // https://developer.apple.com/documentation/foundation/urlrequest/assumeshttp3capable
    public var assumesHTTP3Capable: Bool {
        get { false }
        set {}
    }
    public mutating func addValue(_ value: String, forHTTPHeaderField field: String) {}
    public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) {}
    public func value(forHTTPHeaderField field: String) -> String? { nil }
}

// https://developer.apple.com/documentation/foundation/urlresponse
open class URLResponse: NSObject, @unchecked Sendable {
    open var url: URL? { nil }
}

// https://developer.apple.com/documentation/foundation/httpurlresponse
open class HTTPURLResponse: URLResponse, @unchecked Sendable {
    open var statusCode: Int { 0 }
    open var allHeaderFields: [AnyHashable: Any] { [:] }
}

// https://developer.apple.com/documentation/foundation/urlcache
open class URLCache: NSObject, @unchecked Sendable {
    open class var shared: URLCache { URLCache() }
}

// https://developer.apple.com/documentation/foundation/urlcredentialstorage
open class URLCredentialStorage: NSObject, @unchecked Sendable {
    open class var shared: URLCredentialStorage { URLCredentialStorage() }
}

// https://developer.apple.com/documentation/foundation/httpcookiestorage
open class HTTPCookieStorage: NSObject, @unchecked Sendable {
    open class var shared: HTTPCookieStorage { HTTPCookieStorage() }
}

// https://developer.apple.com/documentation/foundation/httpcookie/acceptpolicy
extension HTTPCookie {
    public enum AcceptPolicy: UInt, Sendable {
        case always = 0
        case never = 1
    }
}

// https://developer.apple.com/documentation/foundation/httpcookie
open class HTTPCookie: NSObject, @unchecked Sendable {}

// https://developer.apple.com/documentation/foundation/urlprotectionspace
open class URLProtectionSpace: NSObject, @unchecked Sendable {
    open var host: String { "" }
    // https://developer.apple.com/documentation/foundation/urlprotectionspace/servertrust
    open var serverTrust: SecTrust? { nil }
}

// https://developer.apple.com/documentation/foundation/urlcredential
open class URLCredential: NSObject, @unchecked Sendable {
    // https://developer.apple.com/documentation/foundation/urlcredential/init(trust:)
    public convenience init(trust: SecTrust) { self.init() }
}

// https://developer.apple.com/documentation/foundation/urlauthenticationchallenge
open class URLAuthenticationChallenge: NSObject, @unchecked Sendable {
    open var protectionSpace: URLProtectionSpace { URLProtectionSpace() }
}

// https://developer.apple.com/documentation/foundation/urlerror
public struct URLError: Error, Hashable, Sendable {
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static var cancelled: Code { Code(rawValue: -999) }
        public static var timedOut: Code { Code(rawValue: -1001) }
        public static var cannotFindHost: Code { Code(rawValue: -1003) }
        public static var cannotConnectToHost: Code { Code(rawValue: -1004) }
        public static var networkConnectionLost: Code { Code(rawValue: -1005) }
        public static var dnsLookupFailed: Code { Code(rawValue: -1006) }
        public static var notConnectedToInternet: Code { Code(rawValue: -1009) }
        public static var badServerResponse: Code { Code(rawValue: -1011) }
        public static var cannotDecodeRawData: Code { Code(rawValue: -1015) }
        public static var cannotDecodeContentData: Code { Code(rawValue: -1016) }
        public static var cannotParseResponse: Code { Code(rawValue: -1017) }
        public static var internationalRoamingOff: Code { Code(rawValue: -1018) }
        public static var callIsActive: Code { Code(rawValue: -1019) }
        public static var dataNotAllowed: Code { Code(rawValue: -1020) }
        public static var appTransportSecurityRequiresSecureConnection: Code { Code(rawValue: -1022) }
        public static var secureConnectionFailed: Code { Code(rawValue: -1200) }
        public static var serverCertificateHasBadDate: Code { Code(rawValue: -1201) }
        public static var serverCertificateUntrusted: Code { Code(rawValue: -1202) }
        public static var serverCertificateHasUnknownRoot: Code { Code(rawValue: -1203) }
        public static var serverCertificateNotYetValid: Code { Code(rawValue: -1204) }
        public static var clientCertificateRejected: Code { Code(rawValue: -1205) }
        public static var clientCertificateRequired: Code { Code(rawValue: -1206) }
    }

    // https://developer.apple.com/documentation/foundation/urlerror/networkunavailablereason-swift.enum
    public enum NetworkUnavailableReason: Int, Sendable {
        case cellular = 0
        case expensive = 1
        case constrained = 2
    }

    public init(_ code: Code) { self.code = code }
    public let code: Code
    // https://developer.apple.com/documentation/foundation/urlerror/networkunavailablereason-swift.property
    public var networkUnavailableReason: NetworkUnavailableReason? { nil }
}
