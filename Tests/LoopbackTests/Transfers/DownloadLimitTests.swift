import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("The byte limit of a download") struct DownloadLimitTests {
    private func expectTooLarge(_ limit: Int, _ scene: DownloadScene, _ path: EndpointPath = "app.zip") async throws {
        let error = await #expect(throws: ServiceError.self) {
            try await scene.client.download(.get(path), to: scene.target, byteLimit: limit)
        }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .tooLarge && failure.message.contains("\(limit) bytes"))
    }

    @Test("D16: a file that says that it is larger than the limit is not begun")
    func announced() async throws {
        let scene = try DownloadScene(10_000)
        scene.serve()
        try scene.scratch.write("old", to: "app.zip")
        try await expectTooLarge(9999, scene)
        #expect(try scene.scratch.read("app.zip") == "old")
        #expect(try scene.names == ["app.zip"])
        #expect(try await scene.client.download(.get("app.zip"), to: scene.target, byteLimit: 10_000).bytes == 10_000)
    }

    @Test("D16: a file of unknown length ends at the limit, and what has come is removed")
    func unknownLength() async throws {
        let scene = try DownloadScene(10_000)
        let pieces = stride(from: 0, to: 10_000, by: 100).map { scene.file.content.dropFirst($0).prefix(100) }
        scene.server.on(
            .get, "/chunks", LoopbackReply.chunks(pieces.map { Data($0) }, headers: ["ETag": "\"1\""]).always)
        try await expectTooLarge(5000, scene, "chunks")
        #expect(try scene.names == [] && scene.server.received.count == 1)
        #expect(try await scene.client.download(.get("chunks"), to: scene.target, byteLimit: 10_000).bytes == 10_000)
    }

    @Test("D16: a file that grows beyond the limit between two attempts is not continued")
    func grown() async throws {
        let scene = try DownloadScene(1000)
        let larger = LoopbackFile(DownloadScene.content(9000), headers: ["ETag": "\"2\""])
        let count = Noted(0)
        scene.server.on(.get, "/app.zip") { [file = scene.file] request in
            count.update { $0 += 1 }
            return count.value == 1 ? file.reply(to: request).cut(.inBody(500)) : larger.reply(to: request)
        }
        try await expectTooLarge(1000, scene)
        #expect(scene.downloaded == nil)
    }

    @Test("D16: a part that is larger than the limit is not continued")
    func largePart() async throws {
        let scene = try DownloadScene(10_000)
        scene.serve { $1 == 1 ? $0.cut(.inBody(6000)) : $1 == 2 ? .status(404) : $0 }
        await #expect(throws: ServiceError.self) { try await scene.client.download(.get("app.zip"), to: scene.target) }
        try await expectTooLarge(5000, scene)
        // It is of use to somebody with another limit.
        #expect(try await scene.client.download(.get("app.zip"), to: scene.target).resumedAfter == 6000)
    }

    @Test("a limit below one byte is refused, and nothing is sent", arguments: [0, -1])
    func badLimit(limit: Int) async throws {
        let scene = try DownloadScene()
        let error = await #expect(throws: ServiceError.self) {
            try await scene.client.download(.get("app.zip"), to: scene.target, byteLimit: limit)
        }
        guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
        #expect(invalid.subject == .configuration && invalid.reason.contains("\(limit) bytes"))
        #expect(try scene.names == [] && scene.server.received.isEmpty)
    }
}
