import Errand
import ExampleServer

/// The response of the token endpoint.
struct TokenAnswer: Decodable, Sendable {
    var access_token: String
    var token_type: String
    var expires_in: Int
    var refresh_token: String?
    var scope: String
}

struct PinsUser: Decodable, Sendable, Equatable {
    var user_id: Int
    var user_name: String
    var created_at: String
    var nav_link: String
    var follower_count: Int
}

/// Calls of Pins with explicit tokens, so that a test can use an old one.
struct PinsClient {
    let client: APIClient

    init(_ server: ExampleServer) {
        client = plainClient(server.pinsURL)
    }

    static func grant(_ form: QueryItems, _ headers: HTTPHeaders = [:]) -> Endpoint<TokenAnswer> {
        .post("oauth/access_token", headers: headers, body: .form(form))
    }

    /// Returns a grant of that type, with the client's id and secret in the form.
    static func grant(_ type: String, _ form: QueryItems = [:]) -> Endpoint<TokenAnswer> {
        var all: QueryItems = [
            "grant_type": type, "client_id": ExampleData.clientID, "client_secret": ExampleData.clientSecret,
        ]
        all.items += form.items
        return grant(all)
    }

    static func password(_ account: ExampleData.Account, scope: String? = nil) -> Endpoint<TokenAnswer> {
        grant("password", ["username": account.userName, "password": account.password, "scope": scope])
    }

    static func refresh(_ token: String?) -> Endpoint<TokenAnswer> {
        grant("refresh_token", ["refresh_token": token])
    }

    func signIn(_ account: ExampleData.Account = ExampleData.ann, scope: String? = nil) async throws -> TokenAnswer {
        try await client.run(Self.password(account, scope: scope))
    }

    /// Returns the same call with that token.
    func signed<Response>(_ endpoint: Endpoint<Response>, _ token: TokenAnswer) -> Endpoint<Response> {
        var endpoint = endpoint
        endpoint.headers["Authorization"] = "Bearer \(token.access_token)"
        return endpoint
    }

    func run<Response>(_ endpoint: Endpoint<Response>, _ token: TokenAnswer) async throws(ServiceError) -> Response {
        try await client.run(signed(endpoint, token))
    }

    func failure<Response>(of endpoint: Endpoint<Response>, _ token: TokenAnswer) async -> ServiceError? {
        await client.failure(of: signed(endpoint, token))
    }
}

extension Endpoint where Response == PinsUser {
    static var signedInUser: Self { .get("users/self") }
}

extension ServiceError {
    /// The server's own code for the error.
    var code: String? {
        if case .rejected(let rejection) = self { rejection.code } else { nil }
    }
}
