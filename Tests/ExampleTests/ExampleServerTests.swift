import Errand
import ErrandTesting
import ExampleServer
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Example server", .timeLimit(.minutes(10)))
struct ExampleServerTests {
    private let popular = Endpoint<Data>.get("popular", query: ["api_key": ExampleData.apiKey])

    @Test("each backend has a base URL, and other paths do not exist")
    func prefixes() async throws {
        let server = try patientServer()
        let root = server.loopback.baseURL
        #expect(server.socialURL == "\(root)/social/api/v1")
        #expect(server.centralURL == "\(root)/central")
        #expect(server.moviesURL == "\(root)/movies/3/movie")
        #expect(server.pinsURL == "\(root)/pins")
        for path: EndpointPath in ["", "nowhere", "movies/2/movie/popular", "social/api"] {
            #expect(await plainClient(root).failure(of: Endpoint<Data>.get(path))?.status == 404)
        }
        #expect(server.received.map(\.path).last == "/social/api")
    }

    @Test("two servers respond alike, byte for byte, and share nothing")
    func twins() async throws {
        let (one, two) = (try patientServer(), try patientServer())
        let first = try await plainClient(one.moviesURL).run(popular)
        #expect(try await plainClient(two.moviesURL).run(popular) == first)
        let tokens = (try await PinsClient(one).signIn(), try await PinsClient(two).signIn())
        #expect(tokens.0.access_token == tokens.1.access_token)
        _ = try await PinsClient(one).run(Endpoint<NoContent>.delete("pins/1"), tokens.0)
        #expect(await PinsClient(two).client.failure(of: .signedInUser)?.status == 401)
        #expect(await PinsClient(two).failure(of: Endpoint<NoContent>.delete("pins/1"), tokens.1) == nil)
    }

    @Test("a given server is taken over, and its scripted replies take precedence")
    func given() async throws {
        let loopback = try LoopbackServer()
        let server = ExampleServer(on: loopback) { $0.requestLimit = nil }
        loopback.on(.get, "/movies/3/movie/popular", .status(418))
        let client = plainClient(server.moviesURL)
        #expect(await client.failure(of: popular)?.status == 418)
        #expect(await client.failure(of: popular) == nil)
        server.close()
        await loopback.closed()
        #expect(await client.failure(of: popular) != nil)
    }

    @Test("deeply nested JSON is refused or read, and the server keeps running")
    func deep() async throws {
        let server = try patientServer()
        let client = plainClient(server.centralURL)
        for depth in [400, 100_000] {
            let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            let body = RequestBody.data(Data(text.utf8), contentType: "application/json")
            #expect(await client.failure(of: Endpoint<Data>.post("authenticate", body: body))?.status == 400)
        }
    }
}
