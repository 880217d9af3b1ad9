#if URLSession || canImport(Darwin)
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension URLSessionTransport.Options {
    /// Returns the configuration of each session: the transport's, with the user's changes. Throws if these would have
    /// a session do what the client does itself.
    func configuration() throws(ServiceError) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCredentialStorage = nil
        configuration.httpCookieStorage = nil
        configuration.httpCookieAcceptPolicy = .never
        configuration.httpShouldSetCookies = false
        configuration.httpAdditionalHeaders = URLSessionConfiguration.ownHeaders
        #if canImport(Darwin)
        configuration.apply(network)
        #endif
        configure?(configuration)
        if let setting = configuration.problem {
            throw .badSetting("`\(setting.name)` of the session, which is the client's; use `\(setting.substitute)`")
        }
        configuration.httpMaximumConnectionsPerHost = connectionsPerHost
        // The client limits each send; a second limit, in whole seconds, would only interfere.
        configuration.timeoutIntervalForRequest = 7 * 24 * 3600
        configuration.timeoutIntervalForResource = 7 * 24 * 3600
        #if canImport(Darwin)
        configuration.waitsForConnectivity = false
        #endif
        return configuration
    }
}

extension URLSessionConfiguration {
    /// The headers of all requests that have no others.
    fileprivate static var ownHeaders: [String: String] { ["Accept": "*/*"] }

    /// A setting by which the session would keep or send what the client keeps or sends, and the client's own.
    fileprivate var problem: (name: String, substitute: String)? {
        if urlCache != nil { return ("urlCache", "Configuration.cache") }
        if requestCachePolicy != .reloadIgnoringLocalCacheData {
            return ("requestCachePolicy", "Configuration.cachePolicies")
        }
        if httpCookieStorage != nil || httpShouldSetCookies { return ("httpCookieStorage", "Configuration.cookies") }
        if urlCredentialStorage != nil { return ("urlCredentialStorage", "Configuration.credentials") }
        guard httpAdditionalHeaders as? [String: String] == Self.ownHeaders else {
            return ("httpAdditionalHeaders", "Configuration.headers")
        }
        return nil
    }
}
#endif
