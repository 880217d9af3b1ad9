import Errand
import ErrandSimulation
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Step {
    static let downloadFile = Step(
        title: "A download that breaks off twice", asked: "client.download(.get(\"release.zip\"), to: path)"
    ) { scene in
        // A server of its own, which closes the first two connections in the middle.
        let server = try LoopbackServer()
        defer { server.close() }
        let size = 3_000_000
        let file = LoopbackFile(Data((0..<size).map { UInt8(truncatingIfNeeded: $0 / 7) }))
        server.on(.get, "/release.zip") { request in
            let reply = file.reply(to: request).inPieces(of: 100_000, every: .milliseconds(20))
            return request.connection <= 2 ? reply.cut(.inBody(1_050_000)) : reply
        }
        let client = APIClient(server.baseURL) { $0.attemptMiddlewares = [scene.wire] }
        let path = FileManager.default.temporaryDirectory.appending(path: "errand-demo-\(UUID().uuidString).zip")
        defer {
            // The system cleans this folder too.
            try? FileManager.default.removeItem(at: path)
        }
        let downloaded = try await client.download(.get("release.zip"), to: path) { progress in
            scene.terminal.showProgress(progress.bytes / 1000, of: size / 1000, "kilobytes")
        }
        await client.shutdown()
        try expect(try Data(contentsOf: path) == file.content, "the file is not the one that the server has")
        let ranges = server.received.compactMap { $0.headers["Range"] }
        try expect(ranges == ["bytes=1050000-", "bytes=2100000-"], "the ranges \(ranges) were requested")
        return "\(downloaded.bytes) bytes in \(downloaded.attempts) attempts, and no byte twice"
    }
}
