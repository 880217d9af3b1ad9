// Declarations of Apple's, without a behavior: see Tests/AppleStubs/README.md.
// swift-format-ignore-file

// https://developer.apple.com/documentation/foundation/urlsession
open class URLSession: NSObject, @unchecked Sendable {
    public init(configuration: URLSessionConfiguration) {}
    public init(
        configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?, delegateQueue: OperationQueue?
    ) {}
    public func data(
        for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) { (Data(), URLResponse()) }
    public func data(
        from url: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) { (Data(), URLResponse()) }
    open func dataTask(with request: URLRequest) -> URLSessionDataTask { URLSessionDataTask() }
    open func uploadTask(with request: URLRequest, from bodyData: Data) -> URLSessionUploadTask {
        URLSessionUploadTask()
    }
    open func uploadTask(with request: URLRequest, fromFile fileURL: URL) -> URLSessionUploadTask {
        URLSessionUploadTask()
    }
    open func uploadTask(withStreamedRequest request: URLRequest) -> URLSessionUploadTask {
        URLSessionUploadTask()
    }
    open func finishTasksAndInvalidate() {}
    open func invalidateAndCancel() {}

    // https://developer.apple.com/documentation/foundation/urlsession/responsedisposition
    public enum ResponseDisposition: Int, Sendable {
        case cancel = 0
        case allow = 1
    }

    // https://developer.apple.com/documentation/foundation/urlsession/authchallengedisposition
    public enum AuthChallengeDisposition: Int, Sendable {
        case useCredential = 0
        case performDefaultHandling = 1
        case cancelAuthenticationChallenge = 2
        case rejectProtectionSpace = 3
    }
}

// https://developer.apple.com/documentation/foundation/urlsessiontask
open class URLSessionTask: NSObject, @unchecked Sendable {
    open var taskIdentifier: Int { 0 }
    open var response: URLResponse? { nil }
    open var error: (any Error)? { nil }
    open var countOfBytesSent: Int64 { 0 }
    open func cancel() {}
    open func suspend() {}
    open func resume() {}
}

// https://developer.apple.com/documentation/foundation/urlsessiondatatask
open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}

// https://developer.apple.com/documentation/foundation/urlsessionuploadtask
open class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {}

// https://developer.apple.com/documentation/foundation/urlsessionconfiguration
open class URLSessionConfiguration: NSObject, @unchecked Sendable {
    open class var ephemeral: URLSessionConfiguration { URLSessionConfiguration() }
    open var urlCache: URLCache?
    open var requestCachePolicy = NSURLRequest.CachePolicy.useProtocolCachePolicy
    open var urlCredentialStorage: URLCredentialStorage?
    open var httpCookieStorage: HTTPCookieStorage?
    open var httpCookieAcceptPolicy = HTTPCookie.AcceptPolicy.always
    open var httpShouldSetCookies = false
    open var httpMaximumConnectionsPerHost = 6
    open var httpAdditionalHeaders: [AnyHashable: Any]?
    open var timeoutIntervalForRequest: TimeInterval = 60
    open var timeoutIntervalForResource: TimeInterval = 604_800
    open var allowsCellularAccess = true
    open var allowsExpensiveNetworkAccess = true
    open var allowsConstrainedNetworkAccess = true
    open var waitsForConnectivity = false
    open var networkServiceType = NSURLRequest.NetworkServiceType.default
}

// https://developer.apple.com/documentation/foundation/nsurlrequest
open class NSURLRequest: NSObject {
    public typealias CachePolicy = URLRequest.CachePolicy
    // https://developer.apple.com/documentation/foundation/nsurlrequest/networkservicetype-swift.enum
    public enum NetworkServiceType: UInt, Sendable { case `default` = 0, responsiveData = 6 }
}

// https://developer.apple.com/documentation/foundation/urlsessiontaskmetrics
open class URLSessionTaskMetrics: NSObject, @unchecked Sendable {
    open var taskInterval: DateInterval { DateInterval() }
    open var transactionMetrics: [URLSessionTaskTransactionMetrics] { [] }
}

// https://developer.apple.com/documentation/foundation/urlsessiontasktransactionmetrics
open class URLSessionTaskTransactionMetrics: NSObject, @unchecked Sendable {
    open var domainLookupEndDate: Date? { nil }
    open var connectEndDate: Date? { nil }
    open var secureConnectionStartDate: Date? { nil }
    open var secureConnectionEndDate: Date? { nil }
    open var responseStartDate: Date? { nil }
    open var isReusedConnection: Bool { false }
    open var networkProtocolName: String? { nil }
    open var countOfRequestHeaderBytesSent: Int64 { 0 }
    open var countOfRequestBodyBytesSent: Int64 { 0 }
    open var countOfResponseHeaderBytesReceived: Int64 { 0 }
    open var countOfResponseBodyBytesReceived: Int64 { 0 }
}
