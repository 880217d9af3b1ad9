import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A download of compressed bytes") struct DownloadCodingTests {
    private func failure(of error: ServiceError?) throws -> TransportFailure {
        guard case .transport(let failure) = error else { throw try #require(error) }
        return failure
    }

    @Test("D16: a server that compresses the file although it was asked not to is refused, and nothing is put in place")
    func refused() async throws {
        let scene = try DownloadScene(30_000)
        let content = scene.file.content
        try scene.scratch.write("old", to: "app.zip")
        let whole = LoopbackReply.gzip(content, headers: ["ETag": "\"1\""])
        scene.server.on(.get, "/app.zip", whole.always)
        let failure = try failure(
            of: await #expect(throws: ServiceError.self) {
                try await scene.client.download(.get("app.zip"), to: scene.target)
            })
        #expect(failure.kind == .malformed && failure.message.contains("gzip") && failure.mayHaveReachedServer)
        #expect(scene.server.received.count == 1)
        #expect(try scene.scratch.read("app.zip") == "old")
        #expect(try scene.names == ["app.zip"])
    }

    @Test("D16: what has come of the file as it is stays, and is continued when the server sends it so again")
    func later() async throws {
        let scene = try DownloadScene(30_000)
        let content = scene.file.content
        let packed = LoopbackReply.gzip(content, headers: ["ETag": "\"1\""])
        scene.serve { reply, number in
            switch number {
            case 1: reply.cut(.inBody(1000))
            case 2: packed
            default: reply
            }
        }
        await #expect(throws: ServiceError.self) { try await scene.client.download(.get("app.zip"), to: scene.target) }
        #expect(scene.part == content.prefix(1000))
        #expect(try await scene.client.download(.get("app.zip"), to: scene.target).resumedAfter == 1000)
        #expect(scene.downloaded == content)
    }

    @Test("a coding that is none is accepted", arguments: ["identity", "Identity", "", "identity, identity"])
    func none(coding: String) async throws {
        let scene = try DownloadScene(1000, headers: ["ETag": "\"1\"", "Content-Encoding": coding])
        scene.serve { $1 == 1 ? $0.cut(.inBody(100)) : $0 }
        try await scene.client.download(.get("app.zip"), to: scene.target)
        #expect(scene.downloaded == scene.file.content && scene.ranges == [nil, "bytes=100-"])
    }
}
