import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Secrets: in headers, URLs and forms that come back") struct EchoedSecretsTests {
    private let network = scripted()

    private func client() -> APIClient {
        testClient(network, TestClock()) {
            $0.secretNames = ["X-Partner"]
            $0.headers = ["X-Partner": Planted.partner, "Authorization": "Bearer \(Planted.access)"]
            $0.retry = .never
        }
    }

    @Test(
        "C90: a secret that comes back in another header is not printed with the headers of a rejection",
        arguments: [404, 503, 302])
    func headers(status: Int) async throws {
        let headers: HTTPHeaders = [
            "X-Echo": "you said \(Planted.partner)", "Via": "1.1 \(Planted.access)", "X-Plain": "plain",
            "Location": "ftp://x/\(Planted.access)?page=2",
        ]
        network.onAny { .status(status, headers: headers) }
        let error = try await #require(throws: ServiceError.self) { try await client().run(Endpoint<Int>.get("x")) }
        expectNoSecret(printed(error), "error")
        guard case .rejected(let rejection) = error.asRejection else { throw error }
        expectNoSecret(printed(rejection.headers) + printed(rejection.headers.fields), "headers")
        #expect("\(rejection.headers)".contains("X-Plain: plain"))
        // The values are there for code that reads them.
        #expect(rejection.headers == headers)
    }

    @Test("C90: of a secret in the target of a refused redirect no part is shown, wherever the text is cut")
    func cutTarget() async throws {
        for length in stride(from: 470, through: 500, by: 3) {
            let target = "ftp://x/" + String(repeating: "x", count: length) + Planted.partner
            network.on(.get, "/x", .status(302, headers: ["Location": target + String(repeating: "y", count: 99_999)]))
            let error = try await #require(throws: ServiceError.self) {
                try await client().run(Endpoint<Int>.get("x"))
            }
            #expect(!error.description.contains("xpart") && error.description.utf8.count < 1_000)
        }
    }

    @Test("C90: a redirect that repeats a secret shows it in no event")
    func redirects() async throws {
        network.on(.get, "/x", .status(302, headers: ["Location": "/y?hint=\(Planted.partner)&page=2"]))
        network.on(.get, "/y?hint=\(Planted.partner)&page=2", .json("1"))
        let events = Noted<[ClientEvent]>([])
        let client = testClient(network, TestClock()) {
            $0.secretNames = ["X-Partner"]
            $0.headers = ["X-Partner": Planted.partner]
            $0.observe = { event in events.update { $0.append(event) } }
        }
        #expect(try await client.run(Endpoint<Int>.get("x")) == 1)
        for event in events.value { expectNoSecret(printed(event) + LogFormatter().line(for: event), "event") }
        #expect(events.value.contains { "\($0.kind)".contains("page=2") })
    }

    @Test(
        "C90: the name of a call shows no user name and no password of its URL",
        arguments: [
            "https://ann:\(Planted.password)@api.test/x", "//ann:\(Planted.password)@api.test/x",
            "ann:\(Planted.password)@api.test/x", "https:ann:\(Planted.password)@api.test/x",
            "https://ann:a/\(Planted.password)@api.test/x", "https://ann:a?\(Planted.password)@api.test/x",
            "https://ann:a#\(Planted.password)@api.test/x", "https://\(Planted.password)@api.test/x",
            "HTTPS://ann:\(Planted.password)@api.test/x",
        ])
    func userInfo(url: String) async throws {
        let names = Noted<[String]>([])
        let client = testClient(network, TestClock()) {
            $0.observe = { event in names.update { $0.append(printed(event)) } }
        }
        let endpoint = Endpoint<Int>.get(url: url)
        let error = try await #require(throws: ServiceError.self) { try await client.run(endpoint) }
        expectNoSecret(printed(error), "error")
        #expect(error.call?.contains("ann") == false)
        expectNoSecret(printed(endpoint.path) + printed(endpoint) + client.explain(endpoint), "path")
        expectNoSecret(names.value.joined(), "event")
    }

    @Test(
        "C90: a secret part of a form is hidden when it comes back, however it was given",
        arguments: ["text", "data", "file data", "JSON text", "JSON list", "large data"])
    func parts(kind: String) async throws {
        network.onAny { .json(#"{"message": "\#(Planted.password) is too short"}"#, status: 422) }
        let body = RequestBody.multipart {
            switch kind {
            case "text": $0.add("password", Planted.password)
            case "data": $0.add("password", data: Data(Planted.password.utf8))
            case "file data": $0.add("password", data: Data(Planted.password.utf8), filename: "a.txt")
            case "JSON text": $0.add("password", json: Planted.password)
            case "JSON list": $0.add("password", json: ["x", Planted.password])
            default: $0.add("password", data: Data("\(Planted.password)".utf8), contentType: "text/plain")
            }
            $0.add("photo", data: Data(repeating: 0xFF, count: 1_000_000), filename: "a.jpg")
        }
        let error = try await #require(throws: ServiceError.self) {
            try await client().run(Endpoint<Int>.post("x", body: body))
        }
        expectNoSecret(printed(error), "error")
        #expect(error.localizedDescription == "‹redacted› is too short")
    }

    @Test("C90: a name in a rejection's body that repeats a secret is not in the path of `decodeBody`")
    func decodeBody() async throws {
        network.onAny { .json(#"{"\#(Planted.partner)": {"x": "no"}}"#, status: 409) }
        let error = try await #require(throws: ServiceError.self) { try await client().run(Endpoint<Int>.get("x")) }
        guard case .rejected(let rejection) = error else { throw error }
        let second = #expect(throws: ServiceError.self) { try rejection.decodeBody(as: [String: [String: Int]].self) }
        guard case .decodingFailed(let failure) = second else { throw try #require(second) }
        #expect(failure.path == "‹redacted›.x")
    }
}

extension ServiceError {
    /// The same error, with a failure of the server as a rejection.
    fileprivate var asRejection: ServiceError {
        if case .serverFailure(let rejection) = self { .rejected(rejection) } else { self }
    }
}
