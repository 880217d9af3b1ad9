import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("EndpointConvertible: a user's own type that describes its calls")
struct EndpointConvertibleTests {
    private enum MovieRoute: EndpointConvertible {
        case popular(page: Int)
        case rate(Int, stars: Int)

        var path: EndpointPath {
            switch self {
            case .popular: "popular"
            case .rate(let id, _): "\(id)/rating"
            }
        }
        var method: HTTPMethod {
            if case .rate = self { .put } else { .get }
        }
        var query: QueryItems {
            if case .popular(let page) = self { ["page": page] } else { [:] }
        }
        var headers: HTTPHeaders { ["X-Kind": "movie"] }
        var body: RequestBody? {
            if case .rate(_, let stars) = self { .json(["stars": stars]) } else { nil }
        }
        var envelope: [String] {
            if case .popular = self { ["results", "titles"] } else { [] }
        }
        var options: CallOptions {
            var options = CallOptions()
            options.idempotencyKey = .fixed("key-1")
            return options
        }
    }

    private struct Plain: EndpointConvertible {
        var path: EndpointPath { "plain" }
    }

    @Test("all that a route says is sent, and its envelope is opened")
    func everything() async throws {
        let network = scripted()
        network.on(.get, "/popular?page=2") { .json(#"{"results":{"titles":["Alien"]}}"#) }
        network.on(.put, "/7/rating") { .status(204) }
        let client = testClient(network, TestClock())
        let titles: [String] = try await client.run(Endpoint(MovieRoute.popular(page: 2)))
        #expect(titles == ["Alien"])
        _ = try await client.run(Endpoint<NoContent>(MovieRoute.rate(7, stars: 5)))
        #expect(network.sent.map { $0.request.headers["X-Kind"] } == ["movie", "movie"])
        #expect(network.sent.last?.request.headers["Idempotency-Key"] == "key-1")
        #expect(network.sent.last.map { String(decoding: $0.body, as: UTF8.self) } == #"{"stars":5}"#)
    }

    @Test("only the path has no default")
    func defaults() async throws {
        let sent = try await request(for: Endpoint<Int>(Plain()))
        #expect(sent.request.method == .get)
        #expect(sent.request.url.target == "/plain")
        #expect(sent.request.body == nil)
        #expect(sent.request.headers.map(\.name) == ["Accept"])
    }
}
