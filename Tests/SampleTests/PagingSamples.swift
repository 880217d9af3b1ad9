import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

struct Film: Codable, Sendable, Equatable {
    var id: Int
    var title: String
}

struct FilmPage: Codable, Sendable {
    var results: [Film]
    var totalPages: Int
}

extension Endpoint where Response == FilmPage {
    static var popular: Self { .get("popular") }
}

struct PinPage: Codable, Sendable {
    var items: [Film]
    var nextCursor: String?
    var next: String?
}

extension Endpoint where Response == PinPage {
    static var pins: Self { .get("pins") }
}

@Suite("Paging")
struct PagingSamples {
    /// Two pages of two films.
    private func films() -> ScriptedTransport {
        let network = scripted()
        network.on(.get, "/popular") { request in
            let page = request.url.query == "page=2" ? [3, 4] : [1, 2]
            let films = page.map { Film(id: $0, title: "\($0)") }
            let body = try JSONEncoder().encode(FilmPage(results: films, totalPages: 2))
            return .status(200, body: body)
        }
        return network
    }

    @Test("all films")
    func allFilms() async throws {
        let client = testClient(films())
        var shown: [Int] = []
        func show(_ film: Film) { shown.append(film.id) }
        let byNumber: Paging<FilmPage> = .number("page", total: \.totalPages)
        for try await film in client.items(of: .popular, in: \.results, by: byNumber) {
            show(film)
        }
        #expect(shown == [1, 2, 3, 4])
    }

    @Test("a list whose first page comes from the cache, and then anew")
    func position() async throws {
        let client = testClient(films()) { $0.cache = .memory(megabytes: 1) }
        var shown: [Int] = []
        func show(_ results: [Film]) { shown += results.map(\.id) }
        let byNumber: Paging<FilmPage> = .number("page", total: \.totalPages)
        let films = client.pages(of: .popular, by: byNumber)
        var next: PagePosition?
        for try await reply in client.replies(to: .popular) {
            show(reply.value.results)
            next = films.position(after: reply)
        }
        #expect(shown == [1, 2] && next.map { "\($0)" } == "page 2")
    }

    @Test("all pages")
    func allPages() async throws {
        let client = testClient(films())
        var shown: [Int] = []
        func show(_ films: [Film]) { shown.append(films.count) }
        let byNumber: Paging<FilmPage> = .number("page", total: \.totalPages)
        for try await page in client.pages(of: .popular, by: byNumber) {
            show(page.value.results)
        }
        #expect(shown == [2, 2])
    }

    @Test("ways")
    func ways() async throws {
        let byNumber: Paging<FilmPage> = .number("page", total: \.totalPages)
        let byCursor: Paging<PinPage> = .cursor("cursor", next: \.nextCursor)
        let byLastID: Paging<PinPage> = .cursor("max_id", next: \.items.last?.id)
        let byHeader: Paging<[User]> = .link
        let byURL: Paging<PinPage> = .nextURL(\.next)
        let network = scripted()
        network.on(.get, "/pins") { ScriptedReply.json(#"{"items": []}"#).times(3) }
        network.on(.get, "/friends") { .json("[]") }
        network.on(.get, "/popular?page=1") { .json(#"{"results": [], "totalPages": 0}"#) }
        let client = testClient(network)
        for paging in [byCursor, byLastID, byURL] {
            for try await _ in client.items(of: .pins, in: \.items, by: paging) {}
        }
        for try await _ in client.items(of: .friends, by: byHeader) {}
        for try await _ in client.items(of: .popular, in: \.results, by: byNumber) {}
        #expect(network.sent.count == 5)
    }

    @Test("inline ways compile")
    func inlined() async throws {
        let network = scripted()
        network.on(.get, "/pins") { ScriptedReply.json(#"{"items": []}"#).times(3) }
        network.on(.get, "/friends") { .json("[]") }
        let client = testClient(network)
        for try await _ in client.items(of: .pins, in: \.items, by: .cursor("cursor", next: \.nextCursor)) {}
        for try await _ in client.items(of: .pins, in: \.items, by: .cursor("max_id", next: \.items.last?.id)) {}
        for try await _ in client.pages(of: .pins, by: .nextURL(\.next)) {}
        for try await _ in client.items(of: .friends, by: .link) {}
    }

    @Test("a list is read on after an error")
    func resuming() async throws {
        let network = films()
        let isOffline = Flag()
        let client = testClient(network) { $0.connectivity = Connectivity { !isOffline.value } }
        var saved = PagePosition.start
        var shown: [Int] = []
        var failures: [ServiceError] = []
        func show(_ film: Film) {
            shown.append(film.id)
            isOffline.value = shown.count == 2
        }
        func show(_ error: ServiceError) { failures.append(error) }
        let byNumber: Paging<FilmPage> = .number("page", total: \.totalPages)
        func readOn() async {
            do {
                let films = client.items(of: .popular, in: \.results, by: byNumber, from: saved)
                for try await film in films {
                    show(film)
                }
            } catch {
                saved = error.position  // Codable: it can be kept in a file
                show(error.error)  // a ServiceError
            }
        }
        await readOn()
        isOffline.value = false
        await readOn()
        #expect(shown == [1, 2, 3, 4])
        #expect(failures == [.noInternetConnection])
    }

    @Test("one page for each tap")
    func tapping() async throws {
        let client = testClient(films())
        var shown: [Int] = []
        func show(_ films: [Film]) { shown += films.map(\.id) }
        var more: PagePosition? = .start
        let byNumber: Paging<FilmPage> = .number("page", total: \.totalPages)
        func tapped() async throws(PagingError) {
            guard let position = more else { return }
            var pages = client.pages(of: .popular, by: byNumber, from: position).makeAsyncIterator()
            guard let page = try await pages.next() else { return }
            show(page.value.results)
            more = page.next  // nil: there is no more
        }
        for _ in 0..<3 { try await tapped() }
        #expect(shown == [1, 2, 3, 4])
    }
}

/// A value that tasks of a test share.
private final class Flag: Sendable {
    private let storage = Lock(false)
    var value: Bool {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }
}
