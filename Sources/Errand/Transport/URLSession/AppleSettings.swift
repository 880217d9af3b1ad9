#if canImport(Darwin)
import Foundation

extension URLSessionConfiguration: AppleConfiguration {}

extension URLRequest: AppleRequest {}
#endif

/// What only Apple's platforms have in the configuration of a session.
protocol AppleConfiguration: AnyObject {
    var allowsCellularAccess: Bool { get set }
    var allowsExpensiveNetworkAccess: Bool { get set }
    var allowsConstrainedNetworkAccess: Bool { get set }
    var waitsForConnectivity: Bool { get set }
}

extension AppleConfiguration {
    /// Excludes the networks that `access` does not allow.
    func apply(_ access: NetworkAccess) {
        allowsCellularAccess = access.allowsCellular
        allowsExpensiveNetworkAccess = access.allowsExpensive
        allowsConstrainedNetworkAccess = access.allowsConstrained
        // The client itself waits for a network, if its configuration says so: within the deadline of the call, and
        // before the attempt has taken a permit.
        waitsForConnectivity = false
    }
}

/// What only Apple's platforms have in a request.
protocol AppleRequest {
    var assumesHTTP3Capable: Bool { get set }
}

extension AppleRequest {
    /// Lets the session try HTTP/3 at once if the server is known to support it.
    mutating func assumeHTTP3(_ isKnown: Bool, at url: HTTPURL) {
        // There is none without encryption.
        assumesHTTP3Capable = isKnown && url.origin.scheme == "https"
    }
}
