import ErrandTestSupport
import ErrandTesting
import Testing

@testable import Errand

@Suite("Names of secrets: one list for headers, queries, forms, JSON and texts")
struct SecretNamesTests {
    private let names = SecretNames.standard

    @Test(
        "C90: a secret name is secret in every place",
        arguments: [
            "pwd", "pass", "pin", "otp", "passcode", "device_code", "code_verifier", "app_key", "sid", "password",
            "newPassword", "user_pin", "smsOtp", "api_key", "X-ApiKey", "apikey2", "access_token", "accessToken",
            "client_secret", "user[password]", "connect.sid", "jwt", "signature", "sig", "auth", "session",
            "session_id", "JSESSIONID", "cvv", "recovery_codes", "verification-code", "Subscription-Key",
        ])
    func everywhere(name: String) {
        for place in [SecretNames.Location.header, .parameter, .member] {
            #expect(names.contains(name, in: place), "\(name) is shown as \(place)")
        }
    }

    @Test(
        "C90: a header with a secret word in its name is not shown",
        arguments: [
            "Authorization", "Proxy-Authorization", "WWW-Authenticate", "Proxy-Authenticate", "Authentication-Info",
            "Cookie", "Set-Cookie", "X-Functions-Key", "Ocp-Apim-Subscription-Key", "X-Auth-Key", "DPoP", "X-Session",
            "X-Session-Id", "X-Amz-Security-Token", "X-CSRF-Token", "X-Token-Id", "X-Goog-Api-Key", "X-Vault-Token",
            "X-Hub-Signature-256", "X-Otp", "X-Pin", "X-XSRF", "X-Password-Hint", "X-Webauth-User", "X-Authkey",
        ])
    func headers(name: String) {
        #expect(names.contains(name, in: .header))
        #expect(names.contains(name.lowercased(), in: .header))
        #expect("\(["\(name)": "challenge-7"] as HTTPHeaders)" == "\(name): ‹redacted›")
    }

    @Test(
        "a harmless header is shown",
        arguments: [
            "Accept", "Host", "ETag", "Idempotency-Key", "X-Idempotency-Key", "Surrogate-Key", "X-Author",
            "X-Authority", "X-RateLimit-Remaining-Tokens", "Access-Control-Allow-Credentials", "X-Keyboard",
            "X-Pingback",
            "Content-Security-Policy", "X-Passenger-App", "X-Shopping", "Location", "X-Request-Id",
        ])
    func harmlessHeaders(name: String) {
        #expect("\(["\(name)": "value"] as HTTPHeaders)" == "\(name): value")
    }

    @Test(
        "an ordinary parameter or member is shown",
        arguments: [
            "page", "sort_key", "primaryKey", "author", "shipping", "compass_size", "pins", "token_type", "zip_code",
            "write_access", "refresh_rate", "expires_in", "total_tokens", "status_code", "keyboard",
        ])
    func harmless(name: String) {
        #expect(!names.contains(name, in: .parameter))
        #expect(!names.contains(name, in: .member))
    }

    @Test("C90: a code or a key is secret in a query or a form, but an ordinary member of JSON")
    func ambiguous() {
        for name in ["code", "key", "Key"] {
            #expect(names.contains(name, in: .parameter))
            #expect(!names.contains(name, in: .member))
        }
    }

    @Test("C90: a client's own names count in every place, whatever their case and separators")
    func own() {
        let names = SecretNames(adding: ["partner_code", "X-Tenant"])
        for place in [SecretNames.Location.header, .parameter, .member] {
            for name in ["partner_code", "partnerCode", "Partner-Code", "x-tenant", "pin"] {
                #expect(names.contains(name, in: place), "\(name) is shown as \(place)")
            }
            #expect(!names.contains("partner", in: place))
        }
    }

    @Test("C90: a client's own names are hidden in a redirect that cannot be followed")
    func ownInARedirect() async throws {
        let network = scripted()
        network.onAny { .status(302, headers: ["Location": "https://api.test:x/b?partner_code=hush-1&api_key=hush-2"]) }
        let client = testClient(network, TestClock()) { $0.secretNames = ["partnerCode"] }
        let error = try await #require(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("a")) }
        #expect(error.description.contains("/b?partner_code=‹redacted›&api_key=‹redacted›"))
        #expect(!printed(error).contains("hush"))
    }

    @Test("C90: a client's own names are hidden in requests, in responses and in all output about them")
    func ownInACall() async throws {
        let network = scripted()
        let location = "https://api.test/b?partner_code=hush-1&page=2"
        network.onAny {
            ScriptedReply.status(302, headers: ["Location": location])
            ScriptedReply.json(#"{"partnerCode":"hush-2","n":"hush-3 hush-4","page":3}"#)
        }
        let client = testClient(network, TestClock()) { $0.secretNames = ["partnerCode"] }
        let events = client.diagnostics
        let endpoint = Endpoint<[Int]>.post(
            "a", query: ["partner_code": "hush-3"], headers: ["Partner-Code": "hush-4"], body: .json([1]))
        let text = client.explain(endpoint)
        let error = try await #require(throws: ServiceError.self) { try await client.run(endpoint) }
        await client.shutdown()
        let lines = await events.map { printed($0) + LogFormatter().line(for: $0) }.reduce("", +)
        for shown in [text, printed(error), lines] { #expect(!shown.contains("hush"), "\(shown)") }
        #expect(lines.contains("/b?partner_code=‹redacted›&page=2"))
        guard case .decodingFailed(let failure) = error else { throw error }
        #expect(failure.snippet == #"{"partnerCode":‹redacted›,"n":"‹redacted› ‹redacted›","page":3}"#)
    }
}
