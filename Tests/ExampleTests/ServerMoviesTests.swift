import Errand
import ExampleServer
import Testing

@Suite("Example server: Movies", .timeLimit(.minutes(10)))
struct ServerMoviesTests {
    private struct Page: Decodable, Sendable {
        var page: Int
        var total_pages: Int
        var total_results: Int
        var results: [Movie]
    }

    private struct Movie: Decodable, Sendable {
        var id: Int
        var poster_path: String?
        var backdrop_path: String?
        var title: String
        var release_date: String
        var vote_average: Double
        var overview: String
    }

    private struct Video: Decodable, Sendable {
        var id: String
        var site: String
    }

    private struct Problem: Decodable {
        var success: Bool
        var status_code: Int
        var status_message: String
    }

    private let server: ExampleServer
    private let client: APIClient

    init() throws {
        server = try patientServer()
        client = plainClient(server.moviesURL) { $0.parameters = ["api_key": ExampleData.apiKey] }
    }

    private func page(_ path: EndpointPath, _ number: Int? = nil) async throws -> Page {
        try await client.run(.get(path, query: ["page": number]))
    }

    private func problem(_ error: ServiceError?) -> Problem? {
        guard case .rejected(let rejection) = error else { return nil }
        return try? rejection.decodeBody(as: Problem.self)
    }

    @Test("pages have twenty films, the last one the rest, and those after it none")
    func pages() async throws {
        let first = try await page("popular")
        #expect(first.page == 1)
        #expect(first.total_pages == 3)
        #expect(first.total_results == 45)
        var ids: [Int] = []
        for number in 1...3 { ids += try await page("popular", number).results.map(\.id) }
        #expect(ids.count == 45)
        #expect(Set(ids).count == 45)
        let beyond = try await page("popular", 4)
        #expect(beyond.results.isEmpty)
        #expect(beyond.page == 4)
        #expect(try await page("now_playing", 2).results.count == 3)
    }

    @Test("some films have no poster, and some have one")
    func posters() async throws {
        let films = try await page("popular").results
        #expect(films.filter { $0.poster_path == nil }.map(\.id) == [4, 8, 12, 16, 20])
        #expect(films.contains { $0.backdrop_path == nil && $0.poster_path != nil })
        #expect(films.allSatisfy { (0...10).contains($0.vote_average) && $0.release_date.count == 10 })
    }

    @Test("a film has recommendations, and videos or none")
    func aboutOne() async throws {
        let others = try await page("5/recommendations").results
        #expect(!others.isEmpty)
        #expect(!others.contains { $0.id == 5 })
        let videos = try await client.run(Endpoint<[Video]>.get("5/videos").unwrapping("results"))
        #expect(videos.map(\.id) == ["video-5-trailer", "video-5-teaser"])
        #expect(try await client.run(Endpoint<[Video]>.get("6/videos").unwrapping("results")).isEmpty)
    }

    @Test(
        "errors have the codes of The Movie Database",
        arguments: [
            ("999/videos", nil, 404, 34), ("0/recommendations", nil, 404, 34), ("elsewhere", nil, 404, 34),
            ("5/releases", nil, 410, 34), ("popular", "0", 400, 22), ("popular", "two", 400, 22),
        ] as [(String, String?, Int, Int)])
    func problems(path: String, page: String?, status: Int, code: Int) async throws {
        let error = await client.failure(
            of: Endpoint<Page>.get(EndpointPath(stringLiteral: path), query: ["page": page]))
        #expect(error?.status == status)
        let problem = try #require(self.problem(error))
        #expect(problem.status_code == code)
        #expect(!problem.success)
        #expect(!problem.status_message.isEmpty)
    }

    @Test("without the right key nothing is shown", arguments: [nil, "", "stolen"])
    func key(_ key: String?) async throws {
        let stranger = plainClient(server.moviesURL) { $0.parameters = ["api_key": key] }
        let error = await stranger.failure(of: Endpoint<Page>.get("popular"))
        #expect(error?.status == 401)
        #expect(problem(error)?.status_code == 7)
    }
}
