#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Downloads of other processes") struct DownloadProcessTests {
    private let server: LoopbackServer
    private let scratch: Scratch
    private let file = LoopbackFile(DownloadScene.content(24 << 20))

    init() throws {
        server = try LoopbackServer()
        scratch = try Scratch()
    }

    private var target: String { scratch.path("file") }
    private var part: Data? { FileManager.default.contents(atPath: target + ".part") }

    /// Serves the file in pieces, with a pause before each.
    private func serve(every pause: Duration) {
        server.on(.get, "/file") { [file] request in
            var reply = file.reply(to: request)
            reply.steps = reply.steps.flatMap { step -> [LoopbackReply.Step] in
                guard case .write(let data) = step, data.count > 1000 else { return [step] }
                return stride(from: 0, to: data.count, by: 64 << 10).flatMap { start in
                    [.pause(pause), .write(Data(data.dropFirst(start).prefix(64 << 10)))]
                }
            }
            return reply
        }
    }

    @Test("D4: killed at any instant, the next download goes on; the file appears whole or not at all")
    func killed() async throws {
        serve(every: .microseconds(500))
        var resumed = 0
        // As often as it takes: each process is killed at a moment of real time, so that any point may be hit.
        for kill in 0..<40 {
            let child = try Child("TransportProbe", ["download", server.baseURL, target])
            if kill < 12 {
                await child.firstWord()
                try await Task.sleep(for: .microseconds(Int.random(in: 0...30_000)))
                child.kill()
            }
            let (lines, status) = try await child.end()
            let isWhole = FileManager.default.contents(atPath: target) == file.content
            if status != SIGKILL {
                #expect(isWhole && status == 0, "\(lines)")
                if let after = lines.last?.split(separator: " ").last.flatMap({ Int($0) }), after > 0 { resumed += 1 }
                break
            }
            guard !isWhole else { break }
            #expect(!scratch.exists("file"), "a part of the file is not the file")
            // Whatever is there is the beginning of the file.
            let part = try #require(part)
            #expect(part == file.content.prefix(part.count))
        }
        #expect(FileManager.default.contents(atPath: target) == file.content)
        let ranges = server.received.compactMap { $0.headers["Range"] }
        #expect(!ranges.isEmpty && resumed <= 1)
        let starts = ranges.compactMap { Int($0.dropFirst("bytes=".count).dropLast()) }
        #expect(starts == starts.sorted(), "no process begins before the one that was killed")
    }

    @Test("D5: a download of another process has the place; when that is killed, the next one goes on")
    func twoProcesses() async throws {
        serve(every: .milliseconds(1))
        let child = try Child("TransportProbe", ["download", server.baseURL, target])
        await child.firstWord()
        let client = APIClient(server.baseURL) { $0.rateLimit = .unlimited }
        let error = await #expect(throws: ServiceError.self) { try await client.download(.get("file"), to: target) }
        guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
        #expect(invalid.reason.hasPrefix("another download writes to \(target)"))
        child.kill()
        _ = try await child.end()
        try await client.download(.get("file"), to: target)
        #expect(FileManager.default.contents(atPath: target) == file.content)
    }

    @Test("D7: on a full disk the error says so, and what has come is kept for the next download")
    func fullDisk() async throws {
        serve(every: .zero)
        let limit = 5_000_000
        let child = try Child("TransportProbe", ["download", server.baseURL, target, "\(limit)"])
        let (lines, status) = try await child.end()
        #expect(status == 0)
        let line = try #require(lines.last)
        #expect(
            line == "GET file: transport(file: A file on this device cannot be used: \(target).part cannot be "
                + "written: File too large)")
        #expect(part == file.content.prefix(limit))
        let client = APIClient(server.baseURL) { $0.rateLimit = .unlimited }
        let result = try await client.download(.get("file"), to: target)
        #expect(result.resumedAfter == limit)
        #expect(FileManager.default.contents(atPath: target) == file.content)
    }

    @Test("D7: a file system that is full", .enabled(if: TemporaryFileSystem.isAllowed, "nobody may mount one here"))
    func fullFileSystem() async throws {
        serve(every: .zero)
        let disk = try TemporaryFileSystem(bytes: 4 << 20)
        let client = APIClient(server.baseURL) { $0.rateLimit = .unlimited }
        let error = await #expect(throws: ServiceError.self) {
            try await client.download(.get("file"), to: disk.path("file"))
        }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .file && failure.message.hasSuffix("cannot be written: No space left on device"))
        let kept = try #require(FileManager.default.contents(atPath: disk.path("file.part")))
        #expect(kept.count > 3 << 20 && kept == file.content.prefix(kept.count))
        #expect(!FileManager.default.fileExists(atPath: disk.path("file")))
    }
}

/// A small file system in memory, which is unmounted with this object.
private final class TemporaryFileSystem: Sendable {
    private let scratch: Scratch

    init(bytes: Int) throws {
        scratch = try Scratch()
        guard mount("tmpfs", scratch.folder, "tmpfs", 0, "size=\(bytes)") == 0 else { throw POSIXError(.EPERM) }
    }

    static var isAllowed: Bool { (try? TemporaryFileSystem(bytes: 4096)) != nil }

    func path(_ name: String) -> String { scratch.path(name) }

    deinit { umount2(scratch.folder, Int32(MNT_DETACH)) }
}
#endif
