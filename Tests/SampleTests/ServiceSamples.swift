import Errand
import ErrandTesting
import ExampleServer
import ExampleServices
import Foundation
import Testing

extension Endpoint where Response == Social.User {
    static func addFriend(_ id: Social.User.ID) -> Self {
        Endpoint(.post, "friends", parameters: ["friend_id": id])
    }
}

@Suite("Services", .timeLimit(.minutes(10)))
struct ServiceSamples {
    private let servers: ExampleServer
    private let ann = ExampleData.ann

    init() throws {
        servers = try ExampleServer { $0.requestLimit = nil }
    }

    @Test("the friends list is loaded and changed")
    func social() async throws {
        let server = ServerEnvironment(name: "social", baseURL: servers.socialURL)
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let client = Social.client(server, appToken: ExampleData.applicationToken, user: ann.id, folder: folder)
        let service = Social.FriendsService(client)
        let screen = await Social.FriendsScreen(service)
        await screen.load()
        #expect(await screen.friends.map(\.id) == [2, 5, 6, 8])
        #expect(await screen.message == nil)
        let added: Social.User = try await client.run(.addFriend(3))
        #expect(added.id == 3)
        try await service.remove(3)
        #expect(try await service.friends().map(\.id) == [2, 5, 6, 8])
    }

    @Test("one place is made, changed, and asked who is signed in")
    func central() async throws {
        var settings = Central.Settings(host: "127.0.0.1")
        (settings.scheme, settings.port, settings.path) = ("http", servers.loopback.port, "/central")
        let central = Central(settings)
        let refusal = await launched(central)
        #expect(refusal == "Invalid Token")
        let account = try await use(central, email: ann.email, password: ann.password)
        #expect(account.id == ann.id)
        #expect(servers.received.last?.target.contains("device_type=tablet") == true)
        #expect(await launched(central) == ann.email)
    }

    private func make() -> Central {
        let settings = Central.Settings(host: "api.example.com", device: .phone)
        let central = Central(settings, persistence: .file("/var/lib/app/session"))
        return central
    }

    private func outlive(_ central: Central, _ upload: Endpoint<NoContent>) async {
        central.start(upload)
        await central.cancelAll()
    }

    private func alerts(_ central: Central, showAlert: (String) -> Void) async {
        for await failure in central.failures { showAlert(failure.alertText) }
    }

    private func log(_ central: Central) async {
        for await line in central.log { print(line) }
    }

    private func use(_ central: Central, email: String, password: String) async throws -> Central.Account {
        try await central.authenticate(email: email, password: password)
        await central.change { $0.device = .tablet }  // every call from now on
        return try await central.checkToken()
    }

    private func launched(_ central: Central) async -> String? {
        var shown: String?
        func letIn(_ account: Central.Account) { shown = account.email }
        func showSignIn(_ reason: String) { shown = reason }
        func show(_ reason: String) { shown = "still signed in: \(reason)" }
        do {
            letIn(try await central.checkToken())
        } catch {
            if await central.tokens.isSignedIn {
                show(error.alertText)  // no network, for example
            } else {
                showSignIn(error.alertText)  // the server's reason, or "Invalid Token"
            }
        }
        return shown
    }

    @Test("a film is asked for in either style")
    func movies() async throws {
        let server = ServerEnvironment(name: "qa", baseURL: servers.moviesURL)
        let key = ExampleData.apiKey
        let client = Movies.client(server, apiKey: key)
        let byCase: Movies.MoviePage = try await client.run(MovieRoute.popular(page: 2))
        let byMember = try await client.run(.popular(page: 2))
        #expect(byCase == byMember)
        let film = byCase.results[0]
        let posterServer = ServerEnvironment(name: "qa", baseURL: servers.moviePicturesURL)
        let file = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString).jpg").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        let bar = Bar()
        let pictures = Movies.Pictures(posterServer)
        let poster = try await pictures.downloadPoster(of: film, to: file) { progress in
            bar.show(progress.fraction)
        }
        #expect(poster?.bytes == FileManager.default.contents(atPath: file)?.count)
    }

    @Test("films are rated, and a list is read to its end")
    func movieList() async throws {
        let server = ServerEnvironment(name: "qa", baseURL: servers.moviesURL)
        // Otherwise the calls would wait for permits.
        let client = Movies.client(server, apiKey: ExampleData.apiKey, log: nil) { $0.rateLimit = .unlimited }
        let page: Movies.MoviePage = try await client.run(MovieRoute.popular(page: 1))
        #expect(page.page == 1)
        let video: [Movies.Video] = try await client.run(MovieRoute.videos(of: page.results[0].id))
        #expect(video.allSatisfy { !$0.key.isEmpty })
        let guest = ExampleData.guestSession
        try await Movies.Service(client).rate(7, 8.5, guest: guest)
        try await client.run(MovieRoute.rate(7, 8.5, guest: guest))
        var titles: [String] = []
        func show(_ film: Movies.Movie) { titles.append(film.title) }
        for try await film in Movies.Service(client).newMovies() {
            show(film)
        }
        #expect(titles.count == 23)
    }

    private struct Bar {
        func show(_ fraction: Double?) {}
    }

    private func logging(_ server: ServerEnvironment, key: String) -> APIClient {
        let client = Movies.client(server, apiKey: key, log: { print($0) })
        return client
    }

    @Test("somebody signs in, and reads who follows them")
    func pins() async throws {
        let server = ServerEnvironment(name: "pins", baseURL: servers.pinsURL)
        let pins = Pins.Service(server, clientID: ExampleData.clientID, clientSecret: ExampleData.clientSecret)
        #expect(await signIn(pins, name: ann.userName, password: "no") != "welcome")
        #expect(await signIn(pins, name: ann.userName, password: ann.password) == "welcome")
        #expect(try await followers(pins, of: pins.user()) > 40)
    }

    private func make(_ server: ServerEnvironment, id: String, secret: String) -> Pins.Service {
        let pins = Pins.Service(
            server, clientID: id, clientSecret: secret, persistence: .file("/var/lib/pins/session"))
        return pins
    }

    private func signIn(_ pins: Pins.Service, name: String, password: String) async -> String? {
        var shown: String?
        func welcome(_ user: Pins.User) { shown = "welcome" }
        func show(_ text: String) { shown = text }
        do {
            welcome(try await pins.signIn(name: name, password: password).user)
        } catch let error where error.isWrongPassword {
            show("The name or the password is wrong")
        } catch {
            show(error.localizedDescription)  // "No internet connection.", a wrong client id, or anything else
        }
        return shown
    }

    private func signInOnPage(_ pins: Pins.Service, welcome: (Pins.User) -> Void) async throws {
        welcome(try await pins.signIn(using: .systemBrowser).user)
    }

    private func events(_ pins: Pins.Service, showSignIn: () -> Void) async {
        for await event in pins.tokens.events {
            if case .expired = event { showSignIn() }  // once, however many calls were under way
        }
    }

    private func wall(_ pins: Pins.Service, of me: Pins.User, show: (Pins.Pin) -> Void) async throws {
        for try await pin in pins.pins(of: me.id) { show(pin) }
    }

    private func followers(_ pins: Pins.Service, of me: Pins.User) async throws -> Int {
        var count = 0
        func show(_ user: Pins.User) { count += 1 }
        for try await user in pins.followers(of: me.id) { show(user) }
        return count
    }

    private func archive(_ wall: [Pins.Pin]) async throws {
        try await ValueArchive<[Pins.Pin]>(path: "/var/lib/pins/wall").save(wall)
    }
}
