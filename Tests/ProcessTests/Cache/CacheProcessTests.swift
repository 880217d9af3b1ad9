#if os(Linux)
@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

// Ten minutes, because a long run starts hundreds of processes.
@Suite("A cache that several processes fill", .timeLimit(.minutes(10))) struct CacheProcessTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    private var folder: String { scratch.path("cache") }

    private var files: [String] {
        let all = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
        return all.map { "\(folder)/\($0)" }.filter { path in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder.boolValue
        }
    }

    private func start(calls: Int = 0) throws -> Child { try Child("TransportProbe", ["cache", folder, "\(calls)"]) }

    /// Waits for the end of a process, all of whose calls must have had their values. Returns the number of hits.
    @discardableResult
    private func hits(of child: Child, isKilled: Bool = false) async throws -> Int {
        let (lines, status) = try await child.end()
        #expect(status == (isKilled ? SIGKILL : 0))
        // The first line has been read.
        #expect(lines.allSatisfy { $0 == "begun" || $0.hasPrefix("hits ") }, "\(lines)")
        return lines.last.flatMap { Int($0.dropFirst(5)) } ?? 0
    }

    @Test("K9: killed at any instant, with bits flipped, files cut and others removed: no wrong value, no failed call")
    func killed() async throws {
        for round in 0..<(LongRun.isWanted ? 500 : 20) {
            let child = try start()
            try await child.firstWord()
            // Another process is killed at a moment of real time, so that any point may be hit.
            try await Task.sleep(for: .microseconds(Int.random(in: 0...30_000)))
            child.kill()
            try await hits(of: child, isKilled: true)
            guard let path = files.randomElement(), let bytes = FileManager.default.contents(atPath: path) else {
                continue
            }
            var damaged = bytes
            switch round % 5 {
            case 0: damaged = bytes.prefix(Int.random(in: 0...bytes.count))
            case 1 where !bytes.isEmpty: damaged[Int.random(in: 0..<bytes.count)] ^= 1 << Int.random(in: 0..<8)
            case 2 where !bytes.isEmpty: damaged += bytes
            case 3: try FileManager.default.removeItem(atPath: path)
            default: continue
            }
            if round % 5 != 3 { try damaged.write(to: URL(fileURLWithPath: path), options: []) }
        }
        #expect(try await hits(of: start(calls: 100)) > 0)
        let bytes = files.reduce(0) { $0 + (FileManager.default.contents(atPath: $1)?.count ?? 0) }
        // The drafts of processes that were killed are removed when they are ten minutes old.
        let drafts = files.filter { $0.contains("/new-") }
        let rest = drafts.reduce(0) { $0 + (FileManager.default.contents(atPath: $1)?.count ?? 0) }
        #expect(bytes - rest <= 1 << 20)
    }

    @Test("K9: two processes fill one folder: no wrong value, no failed call, and hardly more than the limit")
    func two() async throws {
        let children = [try start(calls: 300), try start(calls: 300)]
        async let first = hits(of: children[0])
        async let second = hits(of: children[1])
        #expect(try await first > 0)
        #expect(try await second > 0)
        let bytes = files.reduce(0) { $0 + (FileManager.default.contents(atPath: $1)?.count ?? 0) }
        #expect(bytes <= (1 << 20) * 5 / 4)
    }
}
#endif
