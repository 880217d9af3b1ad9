import Errand
import ErrandSimulation
import ErrandTestSupport
import ErrandTesting
import ExampleServer
import ExampleServices
import Foundation
import Testing

@Suite("The posters of Movies, over real HTTP") struct MoviePicturesTests {
    private let server: ExampleServer
    private let pictures: Movies.Pictures
    private let films: [Movies.Movie]
    private let folder: URL

    init() async throws {
        server = try ExampleServer { $0.requestLimit = nil }
        pictures = Movies.Pictures(ServerEnvironment(name: "qa", baseURL: server.moviePicturesURL)) {
            $0.timeout = .seconds(60)
        }
        let client = Movies.client(
            ServerEnvironment(name: "qa", baseURL: server.moviesURL), apiKey: ExampleData.apiKey, overTheWire)
        films = try await client.run(.popular()).results.elements
        folder = URL.temporaryDirectory.appending(path: "posters-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private var place: String { folder.appending(path: "poster.jpg").path }

    @Test("a poster that breaks off goes on where it was, and the API key stays with the other server")
    func poster() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let film = try #require(films.first { $0.posterPath == "/poster-7.jpg" })
        let whole = try #require(try await pictures.downloadPoster(of: film, width: .original, to: place))
        let content = try #require(FileManager.default.contents(atPath: place))
        #expect(whole.bytes == 400_004 && content.count == whole.bytes && content.starts(with: [0xFF, 0xD8]))

        try FileManager.default.removeItem(atPath: place)
        let file = LoopbackFile(content, headers: ["ETag": "\"7-2000\""])
        server.loopback.on(.get, "/movies/t/p/original/poster-7.jpg") { request in
            let reply = file.reply(to: request)
            return request.headers["Range"] == nil ? reply.cut(.inBody(100_000), by: .reset) : reply
        }
        let progress = Noted<[TransferProgress]>([])
        let resumed = try await pictures.downloadPoster(of: film, width: .original, to: place) { reported in
            progress.update { $0.append(reported) }
        }
        #expect(resumed?.attempts == 2)
        #expect(FileManager.default.contents(atPath: place) == content)
        #expect(progress.value.last?.fraction == 1)
        let asked = server.received.filter { $0.path.hasPrefix("/movies/t/p/") }
        #expect(asked.count == 3 && asked.allSatisfy { !$0.target.contains("api_key") })
    }

    @Test("a film without a poster is asked for nowhere, and a missing poster is an error")
    func none() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let before = server.received.count
        let film = try #require(films.first { $0.posterPath == nil })
        #expect(try await pictures.downloadPoster(of: film, to: place) == nil)
        #expect(server.received.count == before)

        let text =
            #"{"id": 1, "title": "", "poster_path": "/../../3/movie/popular", "vote_average": 0, "overview": ""}"#
        let strange = try JSONDecoder().decode(Movies.Movie.self, from: Data(text.utf8))
        let error = await failure { () async throws(ServiceError) in
            try await pictures.downloadPoster(of: strange, to: place)
        }
        #expect(error != nil && error?.status != 200)
        #expect(server.received.dropFirst(before).allSatisfy { $0.path.hasPrefix("/movies/t/p/") })
        #expect(!FileManager.default.fileExists(atPath: place))
    }
}
