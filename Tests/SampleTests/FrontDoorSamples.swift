import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

private enum FilmRoute: EndpointConvertible {
    case popular(page: Int)
    case forget(id: Int)

    var path: EndpointPath {
        switch self {
        case .popular: "popular"
        case .forget(let id): "\(id)"
        }
    }
    var method: HTTPMethod {
        switch self {
        case .popular: .get
        case .forget: .delete
        }
    }
    var query: QueryItems {
        switch self {
        case .popular(let page): ["page": page]
        case .forget: [:]
        }
    }
}

/// A client is made wherever a client is needed: the closure may use what is isolated there.
@MainActor private final class Screen {
    private var limit = 5
    let client: APIClient

    init() {
        let limit = 7
        client = APIClient("https://api.example.com/v1") {
            $0.rateLimit = .requests(limit, per: .seconds(1))
        }
    }

    func another() -> APIClient {
        APIClient("https://api.example.com/v1") {
            $0.rateLimit = .requests(limit, per: .seconds(1))
        }
    }
}

private actor Library {
    private let key = "k"

    func client() -> APIClient {
        APIClient("https://api.example.com/v1") { $0.headers["X-Key"] = key }
    }
}

/// A wrapper that hands a closure on.
private func quickClient(_ configure: (inout Configuration) -> Void) -> APIClient {
    APIClient("https://api.example.com/v1") {
        $0.timeout = .seconds(3)
        configure(&$0)
    }
}

@Suite("The front door")
struct FrontDoorSamples {
    @Test("a client is made on the main actor, in an actor and in a wrapper")
    func making() async {
        let client = APIClient("https://api.example.com/v1") {
            $0.rateLimit = .requests(5, per: .seconds(1))
        }
        #expect(client.configuration.rateLimit == .requests(5, per: .seconds(1)))
        let screen = await Screen()
        #expect(screen.client.configuration.rateLimit == .requests(7, per: .seconds(1)))
        #expect(await screen.another().configuration.rateLimit == .requests(5, per: .seconds(1)))
        #expect(await Library().client().configuration.headers["X-Key"] == "k")
        #expect(quickClient { $0.retry = .never }.configuration.timeout == .seconds(3))
    }

    @Test("a call for its effect needs no type, and a route is run as it is")
    func running() async throws {
        let network = scripted()
        network.on(.delete, "/7", .status(204), .status(204))
        network.on(.get, "/popular", .json(#"["x"]"#))
        let client = testClient(network)
        try await client.run(.delete("7"))
        try await client.run(FilmRoute.forget(id: 7))
        let titles: [String] = try await client.run(FilmRoute.popular(page: 1))
        #expect(titles == ["x"])
        #expect(network.sent.map(\.request.url.target) == ["/7", "/7", "/popular?page=1"])
    }

    @Test("values of different types stand in one literal, nested ones too")
    func mixedLiterals() async throws {
        let network = scripted()
        network.on(.post, "/people", .status(204), .status(204), .status(204))
        let client = testClient(network)
        let name = "Bo"
        try await client.run(.post("people", body: .json(["name": name, "age": 3, "email": nil])))
        try await client.run(
            .post("people", body: .json(["name": "Bo", "pets": [["name": "Rex", "age": 4], "none"], "on": true])))
        let inside: Parameters = ["pet": ["name": name, "age": 4] as Parameters, "on": true]
        try await client.run(.post("people", body: .json(inside)))
        let bodies = try network.sent.map {
            try JSONDecoder().decode(JSONValue.self, from: $0.request.body?.bytes ?? Data())
        }
        #expect(
            bodies == [
                ["name": "Bo", "age": 3], ["name": "Bo", "pets": [["name": "Rex", "age": 4], "none"], "on": true],
                ["pet": ["name": "Bo", "age": 4], "on": true],
            ])
    }

    @Test("JSON that has no type of its own is read, and written as a literal")
    func anyJSON() async throws {
        let network = scripted()
        let text = #"{"users": [{"name": "Bo", "age": 3, "score": 1.5, "tags": [], "on": true, "none": null}]}"#
        network.on(.get, "/settings", .json(text))
        let client = testClient(network)
        let value: JSONValue = try await client.run(.get("settings"))
        let name = value["users"]?[0]?["name"]?.string
        #expect(name == "Bo")
        let user = value["users"]?.array?.first
        #expect(user?["age"]?.integer == 3 && user?["age"]?.number == 3 && user?["score"]?.number == 1.5)
        #expect(user?["tags"]?.array == [] && user?["on"]?.bool == true && user?["none"]?.isNull == true)
        #expect(user?["missing"] == nil && user?[0] == nil && value["users"]?[1] == nil && user?["name"]?.number == nil)
        #expect(value.object?.count == 1 && !"\(value)".contains("Bo") && !String(reflecting: value).contains("Bo"))
        #expect(try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(value)) == value)
    }

    private func bodies(_ name: String) -> [RequestBody] {
        var bodies: [RequestBody] = []
        do {
            let body = RequestBody.json(["name": name, "age": 3])
            bodies.append(body)
        }
        do {
            let body = RequestBody.json(["name": "Bo", "pets": [["name": "Rex", "age": 4], "none"]])
            bodies.append(body)
        }
        return bodies
    }

    @Test("a body says what kind of body it is, and nothing of what is in it")
    func described() {
        #expect(bodies("secret").allSatisfy { !"\($0)".contains("secret") && !"\($0)".contains("Rex") })
    }

    private struct Repository: Codable, Sendable {
        var name: String
    }

    private struct Owner {
        var repositoriesURL: String
    }

    private struct Problem: Codable, Sendable {
        var code: Int
    }

    @Test("a URL that the server has given is called, and JSON is configured in a line")
    func given() async throws {
        let network = scripted()
        network.on(.get, "/users/7/repos", .json(#"[{"name": "errand"}]"#))
        let user = Owner(repositoriesURL: "https://api.test/users/7/repos")
        let client = testClient(network) {
            $0.decoder = .json(keys: .snakeCase, dates: .iso8601)
            $0.encoder = .json(keys: .snakeCase, dates: .iso8601)
            $0.errorDetails = .decoding(Problem.self)
        }
        let repositories: [Repository] = try await client.run(.get(url: user.repositoriesURL))
        #expect(repositories.map(\.name) == ["errand"])
    }
}
