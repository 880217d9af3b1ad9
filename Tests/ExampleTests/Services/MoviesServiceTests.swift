import Errand
import ErrandTesting
import ExampleServer
import ExampleServices
import Synchronization
import Testing

@Suite("Movies, over real HTTP") struct MoviesServiceTests {
    private let server: ExampleServer
    private let client: APIClient
    private let service: Movies.Service

    init() throws {
        server = try ExampleServer { $0.requestLimit = nil }
        client = Movies.client(
            ServerEnvironment(name: "qa", baseURL: server.moviesURL), apiKey: ExampleData.apiKey, overTheWire)
        service = Movies.Service(client)
    }

    @Test("an enum's case and a static member are the same call, which is answered from the cache the second time")
    func bothStyles() async throws {
        let byCase: Movies.MoviePage = try await client.run(Endpoint(MovieRoute.popular(page: 2)))
        #expect(try await client.run(.popular(page: 2)) == byCase)
        #expect(byCase.page == 2 && byCase.totalPages == 3 && byCase.results.count == 20)
        #expect(server.received.count == 1)
    }

    @Test("without a cache, each call is sent")
    func uncached() async throws {
        func configure(_ configuration: inout Configuration) {
            overTheWire(&configuration)
            configuration.cache = nil
        }
        let client = Movies.client(
            ServerEnvironment(name: "qa", baseURL: server.moviesURL), apiKey: ExampleData.apiKey, configure)
        let first = try await client.run(.popular())
        #expect(try await client.run(.popular()) == first)
        #expect(server.received.count == 2)
    }

    @Test("the popular films are read to their end, some of them without a poster")
    func popular() async throws {
        var films: [Movies.Movie] = []
        for try await page in service.popular() { films += page.value.results }
        #expect(films.count == 45 && Set(films.map(\.id)).count == 45)
        #expect(films.contains { $0.posterPath == nil } && films.contains { $0.posterPath != nil })
        #expect(server.received.count == 3)
    }

    @Test("a list that breaks off goes on where it was")
    func resumed() async throws {
        server.fail(.status(503), next: 1, on: "/movies/3/movie/now_playing")
        var films: [Movies.Movie.ID] = []
        var position = PagePosition.start
        do throws(PagingError) {
            for try await film in service.newMovies() { films.append(film.id) }
        } catch {
            #expect(error.error.status == 503)
            position = error.position
        }
        #expect(films.isEmpty)
        for try await film in service.newMovies(from: position) { films.append(film.id) }
        #expect(films.count == 23 && Set(films).count == 23)
    }

    @Test("recommendations and videos belong to a film")
    func oneFilm() async throws {
        let film = try #require(try await client.run(.popular()).results.first)
        #expect(try await !service.recommended(for: film.id).isEmpty)
        let videos = try await service.videos(of: film.id)
        #expect(videos.allSatisfy { !$0.key.isEmpty })
        let unknown = await failure { () async throws(ServiceError) in try await service.videos(of: 999_999) }
        #expect(unknown?.status == 404)
    }

    @Test("a rating has a query and a body, a review a header as well")
    func tasks() async throws {
        let guest = ExampleData.guestSession
        try await service.rate(7, 8.5, guest: guest)
        let review = try await service.review(7, "Sehr schön & \"lang\"", in: "de", guest: guest)
        #expect(review.content == "Sehr schön & \"lang\"" && review.language == "de")
        let (first, second) = (server.received[0], server.received[1])
        #expect(first.method == .post && first.path.hasSuffix("/7/rating"))
        #expect(first.target.contains("guest_session_id=guest-1") && first.target.contains("api_key="))
        #expect(String(decoding: first.body, as: UTF8.self) == #"{"value":8.5}"#)
        #expect(first.headers["Content-Type"] == "application/json" && first.headers["Content-Language"] == nil)
        #expect(second.headers["Content-Language"] == "de")
        let high = await failure { () async throws(ServiceError) in try await service.rate(7, 11, guest: guest) }
        #expect(high.map(Movies.words) == "The catalog did not understand the question")
        let stranger = await failure { () async throws(ServiceError) in try await service.rate(7, 8, guest: "x") }
        #expect(stranger?.status == 401)
    }

    @Test("a film that cannot be read is left out of its page, and of a list that is read film by film")
    func lossy() async throws {
        server.fail(.elementWithoutID, next: 2, on: "/movies/3/movie")
        let page = try await client.run(.popular())
        #expect(page.results.count == 20 && page.results.skippedCount == 1)
        var films = 0
        for try await _ in service.newMovies() { films += 1 }
        #expect(films == 23)
    }

    @Test("every request and its answer are logged, without the key and the guest's session")
    func log() async throws {
        let lines = Mutex<[String]>([])
        let client = Movies.client(
            ServerEnvironment(name: "qa", baseURL: server.moviesURL), apiKey: ExampleData.apiKey,
            log: { line in lines.withLock { $0.append(line) } }, overTheWire)
        try await Movies.Service(client).rate(7, 8, guest: ExampleData.guestSession)
        let log = lines.withLock { $0 }
        #expect(log.contains { $0.contains("sent POST") && $0.contains("/7/rating") })
        #expect(log.contains { $0.contains("answered 201") })
        #expect(log.last?.contains("succeeded") == true)
        let text = log.joined()
        #expect(!text.contains(ExampleData.apiKey) && !text.contains(ExampleData.guestSession))
    }

    @Test("each kind of failure has words of its own")
    func words() async throws {
        let stranger = Movies.client(
            ServerEnvironment(name: "qa", baseURL: server.moviesURL), apiKey: "wrong", overTheWire)
        let noKey = await failure { () async throws(ServiceError) in try await stranger.run(.popular()) }
        let outdated = await failure { () async throws(ServiceError) in
            try await client.run(Endpoint<Movies.MoviePage>.get("1/releases"))
        }
        server.fail(.html, on: "/movies")
        let page = await failure { () async throws(ServiceError) in try await client.run(.popular()) }
        server.fail(.status(500), on: "/movies")
        let crash = await failure { () async throws(ServiceError) in try await client.run(.popular()) }
        let words = [noKey, outdated, page, crash].map { $0.map(Movies.words) }
        #expect(
            words == [
                "The API key is not valid", "The catalog has moved; update the app",
                "The catalog answered something that this app cannot read",
                "The catalog could not answer; try again later",
            ])
    }

    @Test("the key goes with every call, and is shown nowhere")
    func key() async throws {
        let events = client.diagnostics
        _ = try await client.run(.popular())
        await client.shutdown()
        let formatter = LogFormatter()
        var log = client.explain(.popular()) + "\(client)"
        for await event in events { log += formatter.line(for: event) }
        #expect(!log.contains(ExampleData.apiKey))
        #expect(server.received.allSatisfy { $0.target.contains("api_key=\(ExampleData.apiKey)") })
    }
}
