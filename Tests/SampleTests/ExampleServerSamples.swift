import Errand
import ExampleServer
import Testing

@Suite("The example server", .timeLimit(.minutes(10)))
struct ExampleServerSamples {
    private struct MoviePage: Decodable, Sendable {
        var page: Int
    }

    @Test("a fault goes by")
    func fault() async throws {
        let server = try ExampleServer()
        server.fail(.status(503), next: 2, on: "/movies/3/movie/popular")
        let movies = APIClient(server.moviesURL) { $0.parameters["api_key"] = ExampleData.apiKey }
        let popular = try await movies.reply(to: Endpoint<MoviePage>.get("popular"))
        #expect(popular.attempts == 3)
        #expect(popular.value.page == 1)
    }
}
