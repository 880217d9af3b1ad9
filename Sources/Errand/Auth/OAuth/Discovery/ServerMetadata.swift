extension OAuth {
    /// What an authorization server says about itself (RFC 8414, and the discovery of OpenID Connect): its endpoints,
    /// and what it can do.
    ///
    /// It is `Codable`, so an app can save it, and be started without a network:
    ///
    ///     let saved = ValueArchive<OAuth.ServerMetadata>(path: "/var/lib/app/server")
    ///     let metadata = try await saved.load()
    public struct ServerMetadata: Sendable, Hashable {
        /// The issuer: the URL that names the server, as it stands in ID tokens and redirects; `nil` if it is not
        /// known.
        public var issuer: String?
        /// The URL of the page on which a user signs in; `nil` if there is none.
        public var authorizationEndpoint: String?
        /// The URL that issues tokens; `nil` if there is none.
        public var tokenEndpoint: String?
        /// The URL that begins a sign-in on another device (RFC 8628); `nil` if there is none.
        public var deviceAuthorizationEndpoint: String?
        /// The URL that revokes tokens (RFC 7009); `nil` if there is none.
        public var revocationEndpoint: String?
        /// The URL that takes the parameters of a sign-in before the browser opens (RFC 9126); `nil` if there is none.
        public var pushedAuthorizationRequestEndpoint: String?
        /// The URL that tells about the user of a token (OpenID Connect); `nil` if there is none.
        public var userinfoEndpoint: String?
        /// The URL of the page that ends the user's session at the server (OpenID Connect); `nil` if there is none.
        public var endSessionEndpoint: String?
        /// The URL that tells what a token is good for (RFC 7662); `nil` if there is none.
        public var introspectionEndpoint: String?
        /// Whether the server accepts a sign-in only with pushed parameters.
        public var requiresPushedAuthorizationRequests = false
        /// The methods of PKCE (RFC 7636) that the server lists; `nil` if it lists none, which does not say that it has
        /// none.
        public var codeChallengeMethods: [String]?
        /// Whether the redirect after a sign-in names the issuer (RFC 9207). It is compared with ``issuer``, without
        /// which a sign-in fails with `.invalidRequest`.
        public var namesIssuerInRedirect = false
        /// The scopes that the server lists; `nil` if it lists none.
        public var scopes: [String]?
        /// The types of grants that the server lists; `nil` if it lists none.
        public var grantTypes: [String]?
        /// The URLs of endpoints that ask for the certificate of an app (RFC 8705, 5), by the endpoints' names.
        private(set) var certificateEndpoints: [String: String] = [:]

        /// Creates the metadata of a server that does not publish them.
        public init(
            issuer: String? = nil, authorizationEndpoint: String? = nil, tokenEndpoint: String? = nil,
            deviceAuthorizationEndpoint: String? = nil, revocationEndpoint: String? = nil
        ) {
            self.issuer = issuer
            self.authorizationEndpoint = authorizationEndpoint
            self.tokenEndpoint = tokenEndpoint
            self.deviceAuthorizationEndpoint = deviceAuthorizationEndpoint
            self.revocationEndpoint = revocationEndpoint
        }

        /// The endpoints that the app itself sends requests to, each with its name in the document.
        private static var own: [(key: CodingKeys, path: WritableKeyPath<Self, String?>)] {
            [
                (.tokenEndpoint, \.tokenEndpoint), (.deviceAuthorizationEndpoint, \.deviceAuthorizationEndpoint),
                (.revocationEndpoint, \.revocationEndpoint),
                (.pushedAuthorizationRequestEndpoint, \.pushedAuthorizationRequestEndpoint),
            ]
        }

        /// The endpoints that there are, each with its name in the document.
        var endpoints: [(name: String, url: String)] {
            var endpoints = Self.own.map { key, path in (key.rawValue, self[keyPath: path]) }
            endpoints.append((CodingKeys.authorizationEndpoint.rawValue, authorizationEndpoint))
            endpoints.append((CodingKeys.userinfoEndpoint.rawValue, userinfoEndpoint))
            endpoints.append((CodingKeys.endSessionEndpoint.rawValue, endSessionEndpoint))
            endpoints.append((CodingKeys.introspectionEndpoint.rawValue, introspectionEndpoint))
            for (key, _) in Self.own {
                let name = "\(CodingKeys.certificateEndpoints.rawValue).\(key.rawValue)"
                endpoints.append((name, certificateEndpoints[key.rawValue]))
            }
            return endpoints.compactMap { name, url in url.map { (name, $0) } }
        }

        /// Returns the metadata with the endpoints for that app: those that ask for its certificate, if it has one.
        func endpoints(for app: OAuth.Client) -> Self {
            var metadata = self
            metadata.certificateEndpoints = [:]
            guard app.hasCertificate else { return metadata }
            for (key, path) in Self.own {
                metadata[keyPath: path] = certificateEndpoints[key.rawValue] ?? self[keyPath: path]
            }
            return metadata
        }
    }
}

extension OAuth.ServerMetadata: Codable {
    fileprivate enum CodingKeys: String, CodingKey {
        case issuer
        case authorizationEndpoint = "authorization_endpoint"
        case tokenEndpoint = "token_endpoint"
        case deviceAuthorizationEndpoint = "device_authorization_endpoint"
        case revocationEndpoint = "revocation_endpoint"
        case pushedAuthorizationRequestEndpoint = "pushed_authorization_request_endpoint"
        case userinfoEndpoint = "userinfo_endpoint"
        case endSessionEndpoint = "end_session_endpoint"
        case introspectionEndpoint = "introspection_endpoint"
        case requiresPushedAuthorizationRequests = "require_pushed_authorization_requests"
        case codeChallengeMethods = "code_challenge_methods_supported"
        case namesIssuerInRedirect = "authorization_response_iss_parameter_supported"
        case scopes = "scopes_supported"
        case grantTypes = "grant_types_supported"
        case certificateEndpoints = "mtls_endpoint_aliases"
    }

    /// Reads the document that the server publishes. Members that are not known are ignored, and those of another type
    /// than they should have count as missing, except the issuer.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        issuer = try members.decodeIfPresent(String.self, forKey: .issuer)
        func text(_ key: CodingKeys) -> String? { try? members.decode(String.self, forKey: key) }
        func texts(_ key: CodingKeys) -> [String]? {
            (try? members.decode([String].self, forKey: key)) ?? text(key).map { [$0] }
        }
        // What is there in another form has the stricter meaning.
        func isTrue(_ key: CodingKeys) -> Bool {
            guard members.contains(key), (try? members.decodeNil(forKey: key)) == false else { return false }
            return (try? members.decode(Bool.self, forKey: key)) ?? (text(key)?.lowercased() != "false")
        }
        authorizationEndpoint = text(.authorizationEndpoint)
        tokenEndpoint = text(.tokenEndpoint)
        deviceAuthorizationEndpoint = text(.deviceAuthorizationEndpoint)
        revocationEndpoint = text(.revocationEndpoint)
        pushedAuthorizationRequestEndpoint = text(.pushedAuthorizationRequestEndpoint)
        userinfoEndpoint = text(.userinfoEndpoint)
        endSessionEndpoint = text(.endSessionEndpoint)
        introspectionEndpoint = text(.introspectionEndpoint)
        requiresPushedAuthorizationRequests = isTrue(.requiresPushedAuthorizationRequests)
        codeChallengeMethods = texts(.codeChallengeMethods)
        namesIssuerInRedirect = isTrue(.namesIssuerInRedirect)
        scopes = texts(.scopes)
        grantTypes = texts(.grantTypes)
        certificateEndpoints =
            (try? members.decode([String: JSONValue].self, forKey: .certificateEndpoints))?
            .compactMapValues(\.string) ?? [:]
    }

    /// Writes the members of the document that are known. What has been written is read as the same metadata.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encodeIfPresent(issuer, forKey: .issuer)
        try members.encodeIfPresent(authorizationEndpoint, forKey: .authorizationEndpoint)
        for (key, path) in Self.own { try members.encodeIfPresent(self[keyPath: path], forKey: key) }
        try members.encodeIfPresent(userinfoEndpoint, forKey: .userinfoEndpoint)
        try members.encodeIfPresent(endSessionEndpoint, forKey: .endSessionEndpoint)
        try members.encodeIfPresent(introspectionEndpoint, forKey: .introspectionEndpoint)
        try members.encode(requiresPushedAuthorizationRequests, forKey: .requiresPushedAuthorizationRequests)
        try members.encodeIfPresent(codeChallengeMethods, forKey: .codeChallengeMethods)
        try members.encode(namesIssuerInRedirect, forKey: .namesIssuerInRedirect)
        try members.encodeIfPresent(scopes, forKey: .scopes)
        try members.encodeIfPresent(grantTypes, forKey: .grantTypes)
        if !certificateEndpoints.isEmpty { try members.encode(certificateEndpoints, forKey: .certificateEndpoints) }
    }
}
