import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension AuthorizationServer {
    static let paths: [(HTTPMethod, String)] = [
        (.get, "/.well-known/oauth-authorization-server"), (.post, "/token"), (.post, "/device"), (.post, "/revoke"),
        (.post, "/par"),
    ]

    /// How long a device may wait for its user, and how often it may ask.
    private static let device = (lifetime: 600, interval: 5)
    /// How long an access token lives.
    private static let lifetime = 3600

    func respond(to request: HTTPRequest, at path: String) async -> HTTPResponse {
        if request.method == .get { return Self.json(document) }
        // The requests of the library are never streams.
        let body = (try? await request.body?.collect(upTo: 1 << 20)) ?? Data()
        let form = Self.parameters(String(decoding: body, as: UTF8.self))
        do throws(Refusal) {
            try checkApp(form, request.headers["Authorization"])
            // Before anything is used up: a request whose proof is refused may come again.
            let key = try path == "/token" ? provenKey(of: request) : nil
            let members = try members(for: form, provenBy: key, at: path)
            return Self.json(.object(members), status: path == "/par" ? 201 : 200)
        } catch {
            var response = Self.json(["error": .string(error.code)], status: error.status)
            if let nonce = error.nonce { response.headers["DPoP-Nonce"] = nonce }
            return response
        }
    }

    private static func json(_ value: JSONValue, status: Int = 200) -> HTTPResponse {
        let data = (try? JSONEncoder().encode(value)) ?? Data()
        return HTTPResponse(status: status, headers: ["Content-Type": "application/json"], body: .bytes(data))
    }

    /// Accepts the app's id alone, or with its secret in the header or in the body.
    private func checkApp(_ form: [String: String], _ authorization: String?) throws(Refusal) {
        var (id, given) = (form["client_id"], form["client_secret"])
        if let pair = authorization.flatMap({ Data(base64Encoded: String($0.dropFirst("Basic ".count))) }) {
            let parts = String(decoding: pair, as: UTF8.self).split(separator: ":").map(PercentEncoding.decode)
            (id, given) = (parts.first, parts.last)
        }
        guard id == clientID, given == secret else { throw Refusal(status: 401, code: "invalid_client") }
    }

    private func members(
        for form: [String: String], provenBy key: String?, at path: String
    ) throws(Refusal) -> [String: JSONValue] {
        switch path {
        case "/device":
            let device = Device(
                agreement: Agreement(scopes: Self.scopes(of: form)),
                end: time.now.advanced(by: .seconds(Self.device.lifetime)), interval: .seconds(Self.device.interval))
            let code = state.withLock { $0.begin(device) }
            return [
                "device_code": .string(code), "user_code": "WDJB-MJHT", "expires_in": .integer(Self.device.lifetime),
                "interval": .integer(Self.device.interval), "verification_uri": .string("\(issuer)/activate"),
                "verification_uri_complete": .string("\(issuer)/activate?user_code=WDJB-MJHT"),
            ]
        case "/par":
            let pushed = Pushed(form: form, expiry: time.date.addingTimeInterval(60))
            let reference = state.withLock { state in
                let reference = "urn:ietf:params:oauth:request_uri:\(state.next("pushed"))"
                state.pushed[reference] = pushed
                return reference
            }
            return ["request_uri": .string(reference), "expires_in": 60]
        case "/revoke":
            state.withLock { $0.revoke(form["token"] ?? "") }
            return [:]
        default:
            var agreement = try agreement(for: form, provenBy: key)
            agreement.key = key
            return token(for: agreement, form)
        }
    }

    private static func scopes(of form: [String: String]) -> [String] {
        form["scope"]?.split(separator: " ").map(String.init) ?? []
    }

    /// Returns what a grant stands for.
    private func agreement(for form: [String: String], provenBy key: String?) throws(Refusal) -> Agreement {
        func spent(_ found: Agreement?) throws(Refusal) -> Agreement {
            guard let found else { throw Refusal(code: "invalid_grant") }
            return found
        }
        let type = form["grant_type"] ?? ""
        switch type.split(separator: ":").last.map(String.init) ?? "" {
        case "authorization_code":
            let found = try spent(state.withLock { $0.codes.removeValue(forKey: form["code"] ?? "") })
            let hash = SHA256.hash(of: Data((form["code_verifier"] ?? "").utf8))
            guard found.redirectURI == form["redirect_uri"], found.challenge == Base64URL.encode(hash),
                found.key == nil || found.key == key
            else { throw Refusal(code: "invalid_grant") }
            return found
        case "refresh_token":
            return try spent(state.withLock { $0.redeem(form["refresh_token"] ?? "", by: key) })
        case "device_code":
            let now = time.now
            return try state.withLock { $0.poll(form["device_code"] ?? "", at: now) }.get()
        case "password": return try spent(form["username"] == "ann" ? Agreement(scopes: Self.scopes(of: form)) : nil)
        case "client_credentials": return Agreement(scopes: Self.scopes(of: form))
        case "jwt-bearer": return try spent(form["assertion"].map { _ in Agreement(scopes: Self.scopes(of: form)) })
        case "token-exchange":
            return try spent(form["subject_token"].map { _ in Agreement(scopes: Self.scopes(of: form)) })
        default: throw Refusal(code: "unsupported_grant_type")
        }
    }

    private func token(for agreement: Agreement, _ form: [String: String]) -> [String: JSONValue] {
        let isRefreshable = form["grant_type"] != "client_credentials"
        let end = time.now.advanced(by: .seconds(Self.lifetime))
        let (issued, wrong) = state.withLock { state in
            (state.issue(for: agreement, until: end, isRefreshable: isRefreshable), state.misbehavior)
        }
        var members: [String: JSONValue] = [
            "access_token": .string(issued.access), "token_type": agreement.key == nil ? "Bearer" : "DPoP",
            "expires_in": .integer(Self.lifetime),
        ]
        if isRefreshable { members["refresh_token"] = .string(issued.refresh) }
        if !agreement.scopes.isEmpty { members["scope"] = .string(agreement.scopes.joined(separator: " ")) }
        if agreement.scopes.contains("openid"), !wrong.contains(.noIDToken) {
            members["id_token"] = .string(idToken(nonce: agreement.nonce))
        }
        return members
    }

    /// Returns an ID token about Ann.
    private func idToken(nonce: String?) -> String {
        let now = Int(time.date.timeIntervalSince1970)
        var claims: [String: JSONValue] = [
            "iss": .string(issuer), "sub": "ann", "aud": .string(clientID), "exp": .integer(now + 300),
            "iat": .integer(now), "name": "Ann",
        ]
        claims["nonce"] = nonce.map { .string($0) }
        for (name, value) in self.claims { claims[name] = value.isNull ? nil : value }
        return [#"{"alg":"none"}"#, Self.text(of: .object(claims)), "signature"].map { Base64URL.encode($0.utf8) }
            .joined(separator: ".")
    }

    private static func text(of value: JSONValue) -> String {
        String(decoding: (try? JSONEncoder().encode(value)) ?? Data(), as: UTF8.self)
    }
}
