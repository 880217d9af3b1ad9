#if canImport(Darwin)
import Foundation

extension URLSessionTransport.Options {
    /// Sets what only Apple's platforms have.
    func apply(to configuration: URLSessionConfiguration) {
        configuration.allowsCellularAccess = network.allowsCellular
        configuration.allowsExpensiveNetworkAccess = network.allowsExpensive
        configuration.allowsConstrainedNetworkAccess = network.allowsConstrained
        // The client itself waits for a network, if its configuration says so: within the deadline of the call, and
        // before the attempt has taken a permit.
        configuration.waitsForConnectivity = false
    }
}
#endif
