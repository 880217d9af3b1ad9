public import Errand

extension Central {
    /// What rules every request.
    public struct Settings: Sendable, Hashable {
        /// What the app runs on.
        public enum Device: String, Sendable, Hashable, CaseIterable {
            /// A phone.
            case phone
            /// A tablet.
            case tablet
        }

        /// `https`, or `http` for a server on this machine.
        public var scheme = "https"
        /// The server.
        public var host: String
        /// The port; the scheme's own if there is none.
        public var port: Int?
        /// What lies before all paths.
        public var path = ""
        /// The version of the API that the app speaks.
        public var version = "1.0"
        /// What the app runs on.
        public var device: Device
        /// What else goes with every request, from one start of the app to the next: an installation's number, say.
        public var identifiers: [String: String] = [:]

        /// Settings for that server.
        public init(host: String, device: Device = .phone) {
            self.host = host
            self.device = device
        }

        /// The server that they name.
        public var server: ServerEnvironment {
            ServerEnvironment("central", "\(scheme)://\(host)\(port.map { ":\($0)" } ?? "")\(path)")
        }

        /// What goes with every request.
        var parameters: Parameters {
            var parameters: Parameters = ["version": version, "device_type": device.rawValue]
            for (name, value) in identifiers.sorted(by: { $0.key < $1.key }) { parameters[name] = value }
            return parameters
        }
    }
}
