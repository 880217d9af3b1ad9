import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A download whose disk hangs", .timeLimit(.minutes(10)))
struct HungDownloadTests {
    private let scratch: Scratch
    private let server: LoopbackServer
    private let content = Data((0..<600_000).map { UInt8(truncatingIfNeeded: $0) })

    init() throws {
        scratch = try Scratch()
        server = try LoopbackServer()
        server.on(.get, "/file", .status(200, headers: ["ETag": "\"1\""], body: content))
    }

    @Test("C92 it ends at its deadline, before it has begun; the next one to the place works")
    func beginning() async throws {
        let target = scratch.path("file")
        let client = APIClient(server.baseURL)
        let disk = await HeldPlace(target)
        let error = await #expect(throws: ServiceError.self) {
            try await client.download(Endpoint<Data>.get("file").deadline(.milliseconds(50)), to: target)
        }
        guard case .timedOut(let timeout) = error else { throw try #require(error) }
        #expect(timeout.bound == .deadline)
        disk.release()
        try await client.download(.get("file"), to: target)
        #expect(FileManager.default.contents(atPath: target) == content)
    }

    @Test("C92 it ends when it is cancelled while it writes; what it has left behind disturbs no later one")
    func writing() async throws {
        let target = scratch.path("file")
        let client = APIClient(server.baseURL)
        let breaksOff = Noted(true)
        let whole = content
        server.on(.get, "/broken") { _ in
            guard breaksOff.value else { return .status(200, headers: ["ETag": "\"1\""], body: whole) }
            breaksOff.value = false
            return .raw("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 600000\r\n\r\nabc")
        }
        // The first attempt has opened the part; the second one finds that the disk hangs.
        let (places, held) = AsyncStream.makeStream(of: HeldPlace.self)
        let download = Task {
            try await client.download(
                asking: {
                    if !breaksOff.value { held.yield(await HeldPlace(target)) }
                    return .get("broken")
                }, to: target)
        }
        var heldPlaces = places.makeAsyncIterator()
        let disk = await heldPlaces.next()
        download.cancel()
        await #expect(throws: ServiceError.cancelled) { try await download.value }
        disk?.release()
        try await client.download(.get("broken"), to: target)
        #expect(FileManager.default.contents(atPath: target) == content)
        #expect(!scratch.exists("file.part") && !scratch.exists("file.part.json"))
    }
}
