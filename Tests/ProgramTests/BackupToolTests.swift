#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A backup tool, run against a server that keeps files", .timeLimit(.minutes(10)))
struct BackupToolTests {
    private let server: LoopbackServer
    private let scratch: Scratch
    /// What the server has, by path.
    private let files = Noted<[String: Data]>([:])

    init() throws {
        (server, scratch) = (try LoopbackServer(), try Scratch())
        server.onAny { [files] request in
            let path = request.path.dropFirst("/files/".count).removingPercentEncoding ?? ""
            switch request.method {
            case .put where request.body.count != 7:
                files.update { $0[path] = request.body }
                return .status(204)
            case .put: return .status(507)
            default:
                guard path.isEmpty else { return files.value[path].map { .status(200, body: $0) } ?? .status(404) }
                return .encoding(files.value.map { Listed(path: $0, data: $1) })
            }
        }
    }

    private struct Listed: Encodable {
        var path: String
        var size: Int
        var sha256: String

        init(path: String, data: Data) {
            (self.path, size, sha256) = (path, data.count, "\(FileDigest.sha256(of: data))")
        }
    }

    private func run(_ action: String, _ folder: String) async throws -> (said: String, errors: String, code: CInt) {
        var environment = ProcessInfo.processInfo.environment.filter { !$0.key.lowercased().hasSuffix("_proxy") }
        environment.merge(["BACKUP_SERVER": server.baseURL, "BACKUP_KEY": "k", "LANG": "C"]) { $1 }
        let itself = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let tool = URL(filePath: itself).deletingLastPathComponent().appending(path: "BackupTool")
        let errors = scratch.path("errors")
        let process = try Subprocess(
            "/bin/sh", ["-c", "\"$0\" \"$@\" 2>\(errors)", tool.path, action, scratch.path(folder)],
            environment: environment)
        let (said, code) = try await process.outcome()
        return (
            String(decoding: said, as: UTF8.self), try String(contentsOfFile: errors, encoding: .utf8), code
        )
    }

    private func write(_ content: [String: String], to folder: String) throws {
        for (path, text) in content {
            let file = URL(filePath: scratch.path("\(folder)/\(path)"))
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
    }

    private func puts() -> [String] {
        server.received.filter { $0.method == .put }.map(\.path).sorted()
    }

    @Test("a folder goes up and comes down; a second run copies only what has changed")
    func roundTrip() async throws {
        let content = Dictionary(uniqueKeysWithValues: (0..<40).map { ("a b/\($0 % 5)/ü \($0)", "content of \($0)") })
        try write(content, to: "from")
        let sent = try await run("send", "from")
        let bytes = content.values.reduce(0) { $0 + $1.utf8.count }
        #expect(sent.said == "40 files, \(bytes) bytes\n" && sent.code == 0)
        #expect(sent.errors.hasSuffix("100 %"))
        #expect(server.received.filter { $0.method == .put }.allSatisfy { $0.headers["Repr-Digest"] != nil })
        try write(["a b/1/ü 1": "something else"], to: "from")
        let before = puts().count
        #expect(try await run("send", "from").said == "1 files, 14 bytes\n")
        #expect(puts().count == before + 1)
        let fetched = try await run("fetch", "to")
        #expect(fetched.said == "40 files, \(bytes - "content of 1".utf8.count + 14) bytes\n" && fetched.code == 0)
        let text = try String(contentsOfFile: scratch.path("to/a b/1/ü 1"), encoding: .utf8)
        #expect(text == "something else")
        #expect(try await run("fetch", "to").said == "0 files, 0 bytes\n")
    }

    @Test("a file that is refused is named, and the others are copied")
    func refused() async throws {
        try write(["one": "1", "seven": "7 bytes", "two": "22"], to: "from")
        let sent = try await run("send", "from")
        #expect(sent.said == "2 files, 3 bytes\n" && sent.code == 1)
        #expect(sent.errors.contains("seven: "))
        #expect(files.value.keys.sorted() == ["one", "two"])
    }

    @Test("a path that leads out of the folder is never written")
    func hostile() async throws {
        files.update { $0 = ["../outside": Data("x".utf8)] }
        let fetched = try await run("fetch", "to")
        #expect(fetched.code == 1 && !FileManager.default.fileExists(atPath: scratch.path("outside")))
        #expect(fetched.said.isEmpty)
    }
}
#endif
