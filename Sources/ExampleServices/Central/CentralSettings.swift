public import Errand

extension Central {
    /// The settings of every request.
    public struct Settings: Sendable, Hashable {
        /// The kind of device that the app runs on.
        public enum Device: String, Sendable, Hashable, CaseIterable {
            /// A phone.
            case phone
            /// A tablet.
            case tablet
        }

        /// `https`, or `http` for a server on this machine.
        public var scheme = "https"
        /// The host name of the server.
        public var host: String
        /// The port; `nil` for the scheme's default.
        public var port: Int?
        /// The path that all other paths are appended to.
        public var path = ""
        /// The version of the API that the app uses.
        public var version = "1.0"
        /// The kind of device that the app runs on.
        public var device: Device
        /// More parameters for every request, constant while the app runs: an installation's id, for example.
        public var identifiers: [String: String] = [:]

        /// Creates settings for that server.
        public init(host: String, device: Device = .phone) {
            self.host = host
            self.device = device
        }

        /// The server that the settings describe.
        public var server: ServerEnvironment {
            ServerEnvironment(name: "central", baseURL: "\(scheme)://\(host)\(port.map { ":\($0)" } ?? "")\(path)")
        }

        /// Returns the configuration of a client with these settings; they replace parameters of the same name.
        func applied(to base: Configuration) -> Configuration {
            var configuration = base
            configuration.environment = server
            configuration.parameters["version"] = version
            configuration.parameters["device_type"] = device.rawValue
            for (name, value) in identifiers.sorted(by: { $0.key < $1.key }) { configuration.parameters[name] = value }
            return configuration
        }
    }
}
