import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A download") struct DownloadTests {
    @Test("a file comes whole, for its owner alone, and nothing is left beside it")
    func whole() async throws {
        let scene = try DownloadScene(1_300_000)
        scene.serve()
        let file = try await scene.client.download(.get("app.zip"), to: scene.target)
        #expect(scene.downloaded == scene.file.content)
        #expect(file.path == scene.target && file.url == URL(filePath: scene.target) && file.bytes == 1_300_000)
        #expect(file.status == 200 && file.headers["ETag"] == "\"1\"" && file.attempts == 1)
        #expect(!file.isResumed && !file.isVerified)
        #expect(try scene.scratch.mode("app.zip") == 0o600)
        #expect(try scene.names == ["app.zip"])
        #expect(scene.server.received.first?.headers["Accept-Encoding"] == "identity")
    }

    @Test("an older file is replaced, also by an empty one; a URL names the place as a path does")
    func replaced() async throws {
        let scene = try DownloadScene(0)
        scene.serve()
        try scene.scratch.write("old", to: "app.zip")
        let file = try await scene.client.download(.get("app.zip"), to: URL(filePath: scene.target))
        #expect(scene.downloaded == Data() && file.bytes == 0)
        #expect(try scene.names == ["app.zip"])
    }

    @Test("an error status is thrown with its message, and leaves the older file and nothing else")
    func errorStatus() async throws {
        let scene = try DownloadScene()
        scene.server.on(.get, "/app.zip", .json(#"{"message": "No such release"}"#, status: 404))
        try scene.scratch.write("old", to: "app.zip")
        let error = await #expect(throws: ServiceError.self) {
            try await scene.client.download(.get("app.zip"), to: scene.target)
        }
        #expect(error?.status == 404 && error?.localizedDescription == "No such release")
        #expect(try scene.scratch.read("app.zip") == "old")
        #expect(try scene.names == ["app.zip"])
    }

    @Test("a body of unknown length comes as any other response")
    func unknownLength() async throws {
        let scene = try DownloadScene()
        let (content, totals) = (scene.file.content, Noted<[Int?]>([]))
        scene.server.on(.get, "/chunked", .chunks([content.prefix(10), content.dropFirst(10)]))
        let file = try await scene.client.download(.get("chunked"), to: scene.target) { progress in
            totals.update { $0.append(progress.total) }
        }
        #expect(scene.downloaded == content && file.bytes == content.count)
        // The total is known at the end at the latest.
        #expect(totals.value.first == .some(nil) && totals.value.last == content.count)
    }

    @Test("a POST is sent once, without a range, and leaves nothing behind when it breaks off")
    func post() async throws {
        let scene = try DownloadScene()
        let file = scene.file
        scene.server.on(.post, "/report") { file.reply(to: $0).cut(.inBody(1000)) }
        let error = await #expect(throws: ServiceError.self) {
            try await scene.client.download(.post("report"), to: scene.target)
        }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .truncated && failure.mayHaveReachedServer)
        #expect(scene.server.received.count == 1)
        #expect(try scene.names == [])
    }

    @Test("a range of the caller's own is refused; so is a digest that is none")
    func badOrders() async throws {
        let scene = try DownloadScene()
        await #expect(throws: ServiceError.self) {
            try await scene.client.download(.get("app.zip").header("Range", "bytes=0-9"), to: scene.target)
        }
        let common = APIClient(scene.server.baseURL) { $0.headers = ["Range": "bytes=0-9"] }
        let refusal = await #expect(throws: ServiceError.self) {
            try await common.download(.get("app.zip"), to: scene.target)
        }
        guard case .invalidRequest(let range) = refusal else { throw try #require(refusal) }
        #expect(range.subject == .header && range.reason.contains("Range"))
        let error = await #expect(throws: ServiceError.self) {
            try await scene.client.download(.get("app.zip"), to: scene.target, expecting: .sha256("abc"))
        }
        guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
        #expect(invalid.subject == .configuration && invalid.reason.contains("\"abc\" is not a SHA-256"))
        #expect(scene.server.received.isEmpty)
        #expect(try scene.names == [])
    }
}
