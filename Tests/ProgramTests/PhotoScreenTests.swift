import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Observation
import Testing

@testable import PhotoScreen

@Suite("A screen's model in a target that is on the main actor by default")
@MainActor struct PhotoScreenTests {
    private let network = ScriptedTransport()
    private let clock = TestClock()
    private let screen: PhotoScreen

    init() {
        let (network, clock) = (network, clock)
        screen = PhotoScreen(
            client: APIClient("https://api.test") {
                $0.transport = network
                $0.time = clock
            })
    }

    private func pause() async {
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: .milliseconds(300))
    }

    @Test("only the last search of a user who types is sent, and its list grows")
    func search() async throws {
        network.on(.get, "/photos?name=cat&page=1", .json(#"{"photos": [{"id": 1}], "pages": 2}"#))
        network.on(.get, "/photos?name=cat&page=2", .json(#"{"photos": [{"id": 2}], "pages": 2}"#))
        async let first: Void = screen.search("ca")
        await clock.sleepers(atLeast: 1)
        async let second: Void = screen.search("cat")
        await first
        await pause()
        await second
        #expect(screen.photos.map(\.id) == [1] && screen.next != nil)
        await screen.loadMore()
        #expect(screen.photos.map(\.id) == [1, 2] && screen.next == nil && screen.message == nil)
    }

    @Test("what is loaded for an earlier list is not appended to a later one, and does not end the search for it")
    func overtaken() async throws {
        network.on(.get, "/photos?name=cat&page=1", .json(#"{"photos": [{"id": 1}], "pages": 2}"#))
        network.on(.get, "/photos?name=cat&page=2", .silence)
        network.on(.get, "/photos?name=dog&page=1", .json(#"{"photos": [{"id": 9}], "pages": 1}"#))
        async let first: Void = screen.search("cat")
        await pause()
        await first
        async let second: Void = screen.search("dog")
        await clock.sleepers(atLeast: 1)
        async let more: Void = screen.loadMore()
        await network.sent(atLeast: 2)
        await clock.advance(by: .milliseconds(300))
        await second
        await more
        #expect(screen.photos.map(\.id) == [9] && screen.next == nil && screen.message == nil)
    }

    @Test("an error is shown until a search succeeds, and observers see both")
    func message() async throws {
        let refusal = ScriptedReply.json(#"{"message": "Type more letters."}"#, status: 422)
        network.on(.get, "/photos?page=1", refusal, .json(#"{"photos": [], "pages": 0}"#))
        let changes = Noted(0)
        withObservationTracking {
            _ = screen.message
        } onChange: {
            changes.update { $0 += 1 }
        }
        async let failing: Void = screen.search("")
        await pause()
        await failing
        #expect(screen.message == "Type more letters." && changes.value == 1)
        async let succeeding: Void = screen.search("")
        await pause()
        await succeeding
        #expect(screen.message == nil)
    }

    @Test("an upload shows its progress, and its photo")
    func upload() async throws {
        network.on(.post, "/photos", .json(#"{"id": 3}"#, status: 201))
        let file = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString).jpg")
        try Data("photo".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        await screen.upload(file.path)
        #expect(screen.photos == [Photo(id: 3)] && screen.uploaded == 1 && screen.message == nil)
    }
}
