#if os(Linux)
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension CurlTransport {
    /// How connections are made.
    public struct Options: Sendable, Hashable {
        /// The proxy that requests go through.
        public struct Proxy: Sendable, Hashable {
            package enum Kind: Sendable, Hashable {
                case environment, none
                case url(String)
            }

            package let kind: Kind

            /// The proxy that `https_proxy`, `http_proxy` and `no_proxy` name, if they do; none for requests to this
            /// machine.
            public static let environment = Proxy(kind: .environment)
            /// No proxy, whatever the environment says.
            public static let none = Proxy(kind: .none)
            /// This proxy, for all hosts: `http://proxy.example.com:3128`, with `user:password@` before the host if the
            /// proxy asks for credentials.
            public static func url(_ url: String) -> Proxy { Proxy(kind: .url(url)) }
        }

        /// When requests go over HTTP/3, which runs over UDP.
        ///
        /// It needs libcurl 8.23 or later that was built with it, TLS, and neither a proxy nor a Unix socket: a proxy
        /// that the environment names for `https` counts too, whatever it names as exceptions. Without these, every
        /// choice means `never`. Older versions of libcurl have faults over HTTP/3 that a server can exploit, and
        /// before 7.88 they cannot fall back to TCP.
        ///
        /// A request that tries HTTP/3 is sent once: libcurl opens a connection of each kind if the first is slow, and
        /// chooses before anything of the request is sent. After a failure, requests to that origin go over TCP for
        /// five minutes, and for twice as long after each further one, up to a day.
        public struct HTTP3: Sendable, Hashable {
            package enum Kind: Sendable, Hashable { case never, whenAnnounced, assumed }

            package let kind: Kind

            /// Never.
            public static let never = HTTP3(kind: .never)
            /// When a response has announced it with `Alt-Svc`, for the same host and port, and for as long as that
            /// says. The next request tries it; once it has had a response, the others follow.
            public static let whenAnnounced = HTTP3(kind: .whenAnnounced)
            /// From the first request on, for servers that are known to support it. With another server, the first
            /// connection, and one after each pause, takes up to a fifth of a second longer.
            public static let assumed = HTTP3(kind: .assumed)
        }

        /// A client certificate and its private key, as PEM files.
        public struct ClientCertificate: Sendable, Hashable {
            /// The path of the certificate.
            public var certificate: String
            /// The path of the key.
            public var key: String

            /// Creates an identity from the paths of its files.
            public init(certificate: String, key: String) {
                self.certificate = certificate
                self.key = key
            }
        }

        /// The path of a PEM file with the certificates to trust instead of the system's.
        public var certificateAuthorities: String?
        /// SHA-256 hashes of public keys, in base64 and without `sha256/` in front. A server with any other key is
        /// refused, even if its certificate is valid.
        public var pinnedPublicKeys: [String] = []
        /// A certificate of a server under development to trust at some hosts, beside what is trusted otherwise. A
        /// client without a transport of its own has the same setting in its configuration:
        /// ``Configuration/developmentCertificate``.
        public var developmentCertificate: DevelopmentCertificate?
        /// The certificate for servers that ask the client for one.
        public var clientCertificate: ClientCertificate?
        /// The proxy.
        public var proxy = Proxy.environment
        /// Whether requests to this machine also go through a proxy named by `Proxy.url(_:)`; by default they do not.
        ///
        /// A proxy for debugging may need that. Plain http goes through it only if the proxy runs on this machine too:
        /// a token that may travel unencrypted here must not leave the machine.
        public var proxiesLoopback = false
        /// The longest time until a connection is there, with the lookup of its host and the TLS handshake; `nil`,
        /// libcurl's own five minutes, by default. A longer one is `.transport` of the kind `.unreachable`, and is
        /// retried.
        ///
        /// The client's timeout limits that time as well, and is the longer one as a rule: set this if a server may
        /// take long to respond, but not to connect.
        public var connectTimeout: Duration?
        /// The path of a Unix socket to which all requests go, whatever host their URLs name; `nil` by default.
        ///
        /// The host is still sent as the `Host`: give the client `http://localhost`, unless the server expects another
        /// one. Each request has a connection of its own over HTTP/1.1, and no proxy applies. The system allows a path
        /// of at most 107 bytes.
        public var unixSocket: String?
        /// The greatest number of a client's requests to one origin at once over HTTP/1.1, where each has a connection
        /// of its own; 64 by default. Clients that share the transport do not wait for each other.
        ///
        /// Further requests wait for their turn, in the order they came, in the phase ``Phase/waitingForConnection``:
        /// their timeouts begin when that ends, their deadlines apply as always. A stream holds its connection until it
        /// has been read or dropped, so 64 streams that are not read leave no turn to other requests of their client.
        /// Raise the number for an origin with many long streams.
        public var connectionsPerOrigin = 64
        /// The greatest number of a client's requests to one origin at once over HTTP/2 or HTTP/3, where they share a
        /// connection as far as the server allows, except that no two streams do; 100 by default. Whether an origin
        /// speaks one of them shows with the first connection to it.
        public var streamsPerOrigin = 100
        /// The greatest number of threads for connections; by default as many as the process may use cores. It is one
        /// at least and eight at most, whatever is set.
        ///
        /// There is one until it has sixteen requests, then another, and so on. Requests that can share a connection
        /// over HTTP/2 or HTTP/3 are on one thread. Each but the first ends when it has had nothing to do for two
        /// minutes.
        public var loops: Int?
        /// Whether requests may go over HTTP/2 or HTTP/3; `true` by default. With `false`, all of them go over
        /// HTTP/1.1, whatever ``http3`` says.
        public var allowsHTTP2 = true
        /// When requests go over HTTP/3; never by default. ``Timings/httpVersion`` is the version of a response.
        public var http3 = HTTP3.never

        /// Creates options that trust the system's roots and take the proxy from the environment.
        public init() {}
    }
}

extension CurlTransport.Options {
    /// A digest of what decides whom a server takes the sender for, and who may have answered in its place; `""` if
    /// nothing does. The URL of a proxy may have a password.
    var identity: String {
        var facts: [String] = []
        if let certificateAuthorities { facts += ["authorities", certificateAuthorities] }
        if !pinnedPublicKeys.isEmpty { facts += ["pins"] + pinnedPublicKeys.sorted() }
        if let developmentCertificate { facts.append(developmentCertificate.identity) }
        if let clientCertificate { facts += ["certificate", clientCertificate.certificate, clientCertificate.key] }
        switch proxy.kind {
        case .environment: break
        case .none: facts.append("no proxy")
        case .url(let url): facts += ["proxy", url, "\(proxiesLoopback)"]
        }
        if let unixSocket { facts += ["Unix socket", unixSocket] }
        guard !facts.isEmpty else { return "" }
        return Base64URL.encode(SHA256.hash(of: Data(facts.joined(separator: "\0").utf8)))
    }
}
#endif
