#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension OAuth {
    /// The app as the authorization server knows it: its id, and how it proves that it is the app.
    ///
    ///     let oauth = try await OAuth.discover("https://login.example.com", client: .public(id: "tool"))
    ///
    /// An app that people install cannot keep a secret and is public. A server of yours has a secret, or a key,
    /// ``privateKey(id:_:keyID:audience:)``, or proves itself in another way, with ``init(id:proof:)``. Its description
    /// shows no secrets.
    public struct Client: Sendable {
        /// The encoding of the id and the secret before they are joined for the scheme `Basic`.
        public struct BasicEncoding: Sendable, Hashable, CustomStringConvertible {
            package enum Kind: Sendable, Hashable { case form, raw }

            package let kind: Kind

            /// Percent-encoded, as RFC 6749 (2.3.1) asks; a server that decodes nothing refuses characters like `+`.
            public static let form = BasicEncoding(kind: .form)
            /// As they are, for servers that decode nothing.
            public static let raw = BasicEncoding(kind: .raw)

            /// The encoding's name.
            public var description: String { "\(kind)" }
        }

        /// What a request contains because of the app.
        public struct Proof: Sendable {
            /// Headers of the request.
            public var headers: HTTPHeaders
            /// Parameters of its form.
            public var parameters: QueryItems

            /// Creates a proof.
            public init(headers: HTTPHeaders = [:], parameters: QueryItems = [:]) {
                self.headers = headers
                self.parameters = parameters
            }
        }

        /// The request for which an app proves that it is the app.
        public struct Request: Sendable, Hashable {
            /// The issuer, the audience of a signed assertion; `nil` if it is not known.
            public let issuer: String?
            /// The URL of the endpoint; `nil` if the endpoint was given as a path.
            public let endpoint: String?

            /// Creates a request.
            public init(issuer: String? = nil, endpoint: String? = nil) {
                self.issuer = issuer
                self.endpoint = endpoint
            }
        }

        enum Method: Sendable {
            case idOnly
            case certificate
            case basic(secret: String, BasicEncoding)
            case body(secret: String)
            case assertion(ClientAssertion)
            case proof(@Sendable (Request) async throws -> Proof)
        }

        /// The id of the app.
        public let id: String
        let method: Method
        /// What an app without a secret uses.
        var advice = "`.public(id:)`"

        private init(id: String, method: Method) {
            self.id = id
            self.method = method
        }

        init(id: String, secret: String, _ credentials: Credentials) {
            switch credentials.kind {
            case .inHeader: self = .basic(id: id, secret: secret)
            case .inBody: self = .body(id: id, secret: secret)
            case .idOnly: self = .public(id: id)
            }
            advice = "`credentials: .idOnly`"
        }

        /// Returns an app without a secret, which sends only its id.
        public static func `public`(id: String) -> Client { Client(id: id, method: .idOnly) }

        /// Returns an app that sends its id and its secret in the `Authorization` header.
        public static func basic(id: String, secret: String, encoding: BasicEncoding = .form) -> Client {
            Client(id: id, method: .basic(secret: secret, encoding))
        }

        /// Returns an app that sends its id and its secret in the body.
        public static func body(id: String, secret: String) -> Client {
            Client(id: id, method: .body(secret: secret))
        }

        /// Returns an app that signs each of its requests (`private_key_jwt`, RFC 7523): it has no secret that a server
        /// knows or a request contains.
        ///
        ///     let client = OAuth.Client.privateKey(id: "billing", try SigningKey(pem: text))
        ///
        /// - Parameters:
        ///   - id: The id of the app.
        ///   - key: The private key; register ``SigningKey/publicKey`` with the server.
        ///   - keyID: The identifier by which the server knows the key, ``SigningKey/thumbprint`` by default.
        ///   - audience: The audience of the signatures, by default the issuer, so that no other server can use what it
        ///     receives. Pass another only if the server's documentation asks for it, such as the URL of its token
        ///     endpoint. For a server that wants each endpoint's own, use ``init(id:proof:)`` and
        ///     ``SigningKey/jsonWebToken(_:keyID:)``.
        public static func privateKey(
            id: String, _ key: SigningKey, keyID: String? = nil, audience: String? = nil
        ) -> Client {
            let assertion = ClientAssertion(key: key, keyID: keyID ?? key.thumbprint, audience: audience)
            return Client(id: id, method: .assertion(assertion))
        }

        /// Returns an app that proves itself with the certificate of its connections (`tls_client_auth`, RFC 8705): a
        /// request has its id only, and goes to the URL that the server names for such apps. The certificate belongs
        /// to the transport, as in `CurlTransport.Options.clientCertificate`.
        public static func certificate(id: String) -> Client { Client(id: id, method: .certificate) }

        /// Creates an app that proves itself in a way of its own, such as another kind of key.
        ///
        /// - Parameters:
        ///   - id: The id of the app.
        ///   - proof: Returns what to add to a request. It runs each time that a request is sent, also when it is
        ///     retried: a server may accept a signature only once. The request holds its permit at that time, so do not
        ///     make calls there with a client that shares the rate limiter.
        public init(id: String, proof: @escaping @Sendable (Request) async throws -> Proof) {
            self.init(id: id, method: .proof(proof))
        }

        /// Returns what is missing for that grant; `nil` if nothing is.
        func problem(of grant: Grant) -> String? {
            if id.isEmpty { return "the client id is empty" }
            switch method {
            case .idOnly:
                guard grant.needsSecret else { return grant.problem }
                return "this grant is for apps that have a client secret"
            case .basic("", _), .body(""):
                let advice = grant.needsSecret ? "" : "; an app without one uses \(advice)"
                return "the client secret is empty\(advice)"
            case .basic, .body, .assertion, .certificate, .proof: return grant.problem
            }
        }

        /// Whether a request needs another proof each time that it is sent: a server may accept a signature once, or
        /// only for a minute.
        var isProvenAnew: Bool {
            switch method {
            case .assertion, .proof: true
            case .idOnly, .certificate, .basic, .body: false
            }
        }

        /// Whether its connections have a certificate.
        var hasCertificate: Bool { if case .certificate = method { true } else { false } }

        /// Returns what a request contains because of the app.
        func proof(for request: Request, at date: Date) async throws(ServiceError) -> Proof {
            switch method {
            case .idOnly, .certificate: return Proof(parameters: ["client_id": id])
            case .body(let secret): return Proof(parameters: ["client_id": id, "client_secret": secret])
            case .basic(let secret, let encoding):
                let pair = [id, secret].map { encoding == .raw ? $0 : Self.encoded($0) }.joined(separator: ":")
                return Proof(headers: ["Authorization": "Basic \(Data(pair.utf8).base64EncodedString())"])
            case .assertion(let assertion): return try assertion.proof(of: id, for: request, at: date)
            case .proof(let proof):
                do {
                    return try await proof(request)
                } catch {
                    throw ServiceError(error) {
                        .transport(
                            TransportFailure(
                                .other, "the app's proof failed with \(foreignName(of: $0))",
                                mayHaveReachedServer: false))
                    }
                }
            }
        }

        /// Encodes a space as `%20`: servers that parse forms accept it as well as `+`, and others accept nothing else.
        private static func encoded(_ text: String) -> String { PercentEncoding.queryPart.encode(text) }

        /// The secret of the app; `nil` if it has none.
        var secret: String? {
            switch method {
            case .basic(let secret, _), .body(let secret): secret
            case .idOnly, .certificate, .assertion, .proof: nil
            }
        }
    }
}

extension OAuth.Client: OpaqueReflectable {
    /// The id of the app; no secret.
    public var description: String { "Client(\(id))" }
}

extension OAuth.Client.Proof: OpaqueReflectable {
    /// The names of the headers and of the parameters, without their values.
    public var description: String {
        "Proof(\((headers.map(\.name) + parameters.items.map(\.name)).joined(separator: ", ")))"
    }
}
