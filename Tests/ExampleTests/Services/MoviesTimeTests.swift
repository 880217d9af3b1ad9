import Errand
import ErrandTesting
import ExampleServices
import Testing

@Suite("Movies, in virtual time") struct MoviesTimeTests {
    private let clock = TestClock()
    private let network = script()
    private let service: Movies.Service

    init() {
        service = Movies.Service(
            Movies.client(
                ServerEnvironment(name: "test", baseURL: "https://movies.test"), apiKey: "k", scripted(network, clock)))
    }

    private func page(_ number: Int, of total: Int) -> ScriptedReply {
        .json(#"{"page": \#(number), "total_pages": \#(total), "total_results": \#(total), "results": []}"#)
    }

    @Test(
        "production, staging and qa: all four paths, with the key",
        arguments: [
            (ServerEnvironment.movies, "api"), (.moviesStaging, "staging"), (.moviesQA, "qa"),
        ])
    func environments(environment: ServerEnvironment, host: String) async throws {
        let base = "https://\(host).themoviedb.org/3/movie"
        network.on(.get, "\(base)/7/recommendations?api_key=k", page(1, of: 1))
        network.on(.get, "\(base)/popular?page=1&api_key=k", page(1, of: 1))
        network.on(.get, "\(base)/now_playing?page=2&api_key=k", page(2, of: 2))
        network.on(.get, "\(base)/7/videos?api_key=k", .json(#"{"results": []}"#))
        let client = Movies.client(environment, apiKey: "k", scripted(network, clock))
        for route in [MovieRoute.recommended(for: 7), .popular(), .newMovies(page: 2)] {
            let page: Movies.MoviePage = try await client.run(Endpoint(route))
            #expect(page.results.isEmpty)
        }
        #expect(try await client.run(.videos(of: 7)).isEmpty)
        try network.verify()
    }

    @Test("a question that is not understood has its own words, and cancelAll ends what runs")
    func badRequest() async throws {
        network.on(.get, "/1/videos?api_key=k", .status(400), .silence)
        let client = Movies.client(
            ServerEnvironment(name: "test", baseURL: "https://movies.test"), apiKey: "k", scripted(network, clock))
        let error = await failure { () async throws(ServiceError) in try await client.run(.videos(of: 1)) }
        #expect(error.map(Movies.words) == "The catalog did not understand the question")
        try await clock.run {
            let call = Task(executorPreference: clock.executor) {
                await failure { () async throws(ServiceError) in try await client.run(.videos(of: 1)) }
            }
            try await clock.sleep(for: .seconds(1))
            client.cancelAll()
            #expect(await call.value == .cancelled)
        }
    }

    @Test("ten seconds are the limit of a request")
    func timeout() async throws {
        network.on(.get, "/1/videos?api_key=k", .silence)
        await clock.run {
            let error = await failure { () async throws(ServiceError) in try await service.videos(of: 1) }
            #expect(error == .timedOut(Timeout(.attempt, limit: .seconds(10), phase: .waitingForResponse)))
        }
    }

    @Test("an empty answer and one of another shape are distinguished")
    func empty() async throws {
        network.on(.get, "/popular?page=1&api_key=k", .status(200), .json("[1]"))
        let client = Movies.client(
            ServerEnvironment(name: "test", baseURL: "https://movies.test"), apiKey: "k", scripted(network, clock))
        for words in [
            "The catalog answered nothing", "The catalog answered something that this app cannot read",
        ] {
            let error = await failure { () async throws(ServiceError) in try await client.run(.popular()) }
            #expect(error.map(Movies.words) == words)
        }
    }

    @Test("a film without a release date, or with null, is a film")
    func noDate() async throws {
        let rest = #""title": "", "vote_average": 0, "overview": """#
        let films = [#"{"id": 1, \#(rest)}"#, #"{"id": 2, "release_date": null, \#(rest)}"#]
        network.on(
            .get, "/7/recommendations?api_key=k",
            .json(#"{"page": 1, "total_pages": 1, "total_results": 2, "results": [\#(films.joined(separator: ","))]}"#))
        let list = try await service.recommended(for: 7)
        #expect(list.map(\.id) == [1, 2] && list.skippedCount == 0)
        #expect(list.allSatisfy { $0.releaseDate == nil })
    }

    @Test("reading ends when its task is cancelled while the next page is on its way")
    func cancelled() async throws {
        network.on(.get, "/popular?page=1&api_key=k", page(1, of: 3))
        network.on(.get, "/popular?page=2&api_key=k", page(2, of: 3).after(.seconds(5)))
        try await clock.run {
            let reading = Task(executorPreference: clock.executor) {
                var pages = 0
                do throws(PagingError) {
                    for try await _ in service.popular() { pages += 1 }
                } catch {
                    return (pages, Optional(error.error))
                }
                return (pages, nil)
            }
            try await clock.sleep(for: .seconds(2))
            reading.cancel()
            let (pages, error) = await reading.value
            #expect(pages == 1 && error == .cancelled)
        }
    }

    @Test("reading ends when its task is cancelled between two films of a page, and goes on there")
    func cancelledWithin() async throws {
        let films = (1...3).map { id in
            #"{"id": \#(id), "title": "", "release_date": "", "vote_average": 0, "overview": ""}"#
        }
        let page = #"{"page": 1, "total_pages": 2, "total_results": 6, "results": [\#(films.joined(separator: ","))]}"#
        network.on(.get, "/now_playing?page=1&api_key=k", .json(page).times(2))
        let reading = Task {
            var seen: [Movies.Movie.ID] = []
            do throws(PagingError) {
                for try await film in service.newMovies() {
                    seen.append(film.id)
                    if film.id == 2 { withUnsafeCurrentTask { $0?.cancel() } }
                }
            } catch {
                return (seen, Optional(error))
            }
            return (seen, nil)
        }
        let (seen, error) = await reading.value
        #expect(seen == [1, 2] && error?.error == .cancelled)
        #expect(network.sent.count == 1)
        var rest = service.newMovies(from: try #require(error).position).makeAsyncIterator()
        #expect(try await rest.next()?.id == 3)
    }
}
