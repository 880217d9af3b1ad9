package import Errand
package import ErrandTesting
package import Foundation

/// A server with a file, a client without pauses between attempts, and a folder for what it downloads.
package struct DownloadScene: Sendable {
    package let server: LoopbackServer
    package let client: APIClient
    package let scratch: Scratch
    package let file: LoopbackFile

    package init(_ count: Int = 200_000, headers: HTTPHeaders = ["ETag": "\"1\""]) throws {
        let server = try LoopbackServer()
        self.server = server
        scratch = try Scratch()
        file = LoopbackFile(Self.content(count), headers: headers)
        client = APIClient(server.baseURL) {
            $0.rateLimit = .unlimited
            $0.retry = RetryPolicy(attempts: 3, base: .zero)
            // Real time: a busy machine must not fail the test.
            $0.timeout = .seconds(60)
        }
    }

    /// The path of the file, and what is there.
    package var target: String { scratch.path("app.zip") }
    package var downloaded: Data? { FileManager.default.contents(atPath: target) }
    package var part: Data? { FileManager.default.contents(atPath: target + ".part") }
    /// The names in the folder.
    package var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: scratch.folder).sorted() }
    }
    /// The ranges that were requested, in order; `nil` for the whole file.
    package var ranges: [String?] { server.received.map { $0.headers["Range"] } }

    /// Serves the file, each response changed by the closure, which is given the number of the request from 1.
    package func serve(_ change: @escaping @Sendable (LoopbackReply, Int) -> LoopbackReply = { reply, _ in reply }) {
        let count = Noted(0)
        server.on(.get, "/app.zip") { [file] request in
            count.update { $0 += 1 }
            return change(file.reply(to: request), count.value)
        }
    }

    /// Returns that many bytes, which look random and differ everywhere.
    package static func content(_ count: Int) -> Data {
        var (state, words) = (UInt64(count) | 1, [UInt64]())
        words.reserveCapacity(count / 8 + 1)
        while words.count * 8 < count {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            words.append(state)
        }
        return words.withUnsafeBytes { Data($0.prefix(count)) }
    }
}
