#if os(Linux)
@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

@Suite("Files that are watched", .timeLimit(.minutes(10)))
struct FileWatchTests {
    private let scratch: Scratch
    private let watcher = FolderWatcher(idleMilliseconds: 20)

    init() throws {
        scratch = try Scratch()
    }

    /// A watch, and a stream of its changes.
    private struct Watched: Sendable {
        let watch: FileWatch
        let changes: AsyncStream<Void>

        /// Waits for the next change.
        func next() async { for await _ in changes { return } }
    }

    /// Watches a file, and waits until it is watched.
    private func watch(_ name: String, noting changes: Noted<Int> = Noted(0)) async -> Watched {
        let path = scratch.path(name)
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let watch = FileWatch(of: path, by: watcher) {
            changes.update { $0 += 1 }
            continuation.yield()
        }
        await looked(at: path)
        return Watched(watch: watch, changes: stream)
    }

    /// Waits until the disk has been looked at, because work on one file is done in order.
    private func looked(at path: String) async {
        await DiskThreads.shared.finish(at: path) {}
    }

    /// Replaces a file like another process.
    private func replace(_ name: String, with text: String) throws {
        try PrivateFile(path: scratch.path(name)).write(Data(text.utf8))
    }

    @Test("T20: a file that comes, is replaced or goes is noticed, each time")
    func changes() async throws {
        let watched = await watch("file")
        for round in 0..<3 {
            try replace("file", with: "\(round)")
            await watched.next()
        }
        try PrivateFile(path: scratch.path("file")).remove()
        await watched.next()
        try replace("file", with: "again")
        await watched.next()
    }

    @Test("T20: other files of the folder, drafts and locks are not reported")
    func others() async throws {
        let noted = Noted(0)
        let watched = await watch("file", noting: noted)
        let sentinel = await watch("sentinel")
        let lock = try #require(
            try await FileLock.acquire(beside: PrivateFile(path: scratch.path("file")), within: .seconds(1)))
        await lock.release()
        try scratch.write("half", to: "file.new")
        // A new file that is written in place could be read before it is complete.
        try Data("half".utf8).write(to: URL(fileURLWithPath: scratch.path("file")))
        try replace("sentinel", with: "")
        // The changes come in order, on one thread.
        await sentinel.next()
        #expect(noted.value == 0)
        try replace("file", with: "whole")
        await watched.next()
    }

    @Test("T20: a folder that is missing at first, at any depth, is watched when it is there")
    func missing() async throws {
        let watched = await watch("a/b/c/file")
        try replace("a/b/c/file", with: "new")
        await watched.next()
        try replace("a/b/c/file", with: "newer")
        await watched.next()
    }

    @Test("T20: a file that comes and goes with its folder between two looks is noticed", .timeLimit(.minutes(1)))
    func brief() async throws {
        let watched = await watch("a/b/file")
        // The looks wait, because work on one file is done in order.
        await DiskThreads.shared.finish(at: scratch.path("a/b/file")) { [scratch] in
            try? PrivateFile(path: scratch.path("a/b/file")).write(Data())
            rename(scratch.path("a"), scratch.path("gone"))
        }
        await watched.next()
    }

    @Test("T20: a folder that is removed and made again is watched again", arguments: [1, 2])
    func removed(levels: Int) async throws {
        let noted = Noted(0)
        let watched = await watch("a/b/file", noting: noted)
        /// Waits for a change after this one, and until there can be no other one.
        func noticed(_ change: () throws -> Void) async throws {
            let before = noted.value
            try change()
            while noted.value == before { try await Task.sleep(for: .milliseconds(2)) }
            // The changes come in order, on one thread.
            let sentinel = await watch("sentinel")
            try replace("sentinel", with: "")
            await sentinel.next()
            await looked(at: scratch.path("a/b/file"))
        }
        for round in 0..<4 {
            try await noticed { try replace("a/b/file", with: "\(round)") }
            try await noticed {
                try FileManager.default.removeItem(atPath: scratch.path(levels == 1 ? "a/b" : "a"))
            }
        }
        watched.watch.end()
    }

    @Test("T20: a file of a new folder is noticed, although it has the identity and the time of the old one")
    func sameFile() async throws {
        let files = FileManager.default
        try scratch.write("same", to: "kept")
        func make() throws {
            try files.createDirectory(atPath: scratch.path("a"), withIntermediateDirectories: false)
            try files.linkItem(atPath: scratch.path("kept"), toPath: scratch.path("a/file.new"))
            try files.moveItem(atPath: scratch.path("a/file.new"), toPath: scratch.path("a/file"))
        }
        try make()
        let noted = Noted(0)
        let watched = await watch("a/file", noting: noted)
        let sentinel = await watch("sentinel")
        let (isBlocked, isFree) = (Latch(), Latch())
        // The disk is not looked at until both have happened.
        async let blocker: Void = DiskThreads.shared.finish(at: scratch.path("a/file")) {
            isBlocked.open()
            let free = DispatchSemaphore(value: 0)
            Task {
                await isFree.opened()
                free.signal()
            }
            free.wait()
        }
        await isBlocked.opened()
        try files.removeItem(atPath: scratch.path("a"))
        try make()
        try replace("sentinel", with: "")
        // The changes come in order, on one thread.
        await sentinel.next()
        let before = noted.value
        isFree.open()
        await blocker
        await looked(at: scratch.path("a/file"))
        #expect(noted.value == before + 1)
        watched.watch.end()
    }

    @Test("T20: after the system has dropped events, each watched file is looked at again")
    func overflow() async throws {
        let names = ["a/file", "b/file"]
        let noted = names.map { _ in Noted(0) }
        var watches: [Watched] = []
        for (name, changes) in zip(names, noted) {
            try replace(name, with: "old")
            watches.append(await watch(name, noting: changes))
            // A change of which the system reports nothing.
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -100)], ofItemAtPath: scratch.path(name))
        }
        #expect(noted.map(\.value) == [0, 0])
        watcher.report([(watch: -1, kinds: UInt32(IN_Q_OVERFLOW), name: "")])
        for name in names { await looked(at: scratch.path(name)) }
        #expect(noted.map(\.value) == [1, 1])
        withExtendedLifetime(watches) {}
    }

    @Test("T20: a folder that is replaced by another one is watched in its place")
    func replaced() async throws {
        try replace("a/file", with: "old")
        try replace("b/file", with: "new")
        let watched = await watch("a/file")
        try FileManager.default.moveItem(atPath: scratch.path("a"), toPath: scratch.path("c"))
        try FileManager.default.moveItem(atPath: scratch.path("b"), toPath: scratch.path("a"))
        await watched.next()
        // Another change of the same may still come, so it is not known which one is waited for next.
        while (try? scratch.read("a/file")) != "newest" {
            try replace("a/file", with: "newest")
            await watched.next()
        }
        #expect(watcher.count == 1)
    }

    @Test("a hundred watches of a folder need one descriptor, and nothing is left when they end")
    func ends() async throws {
        var all: [Watched] = []
        for number in 0..<100 { all.append(await watch("file\(number % 10)")) }
        #expect(watcher.count == 1)
        #expect(watcher.isRunning)
        try replace("file3", with: "")
        await all[93].next()
        await all[3].next()
        for watched in all { watched.watch.end() }
        #expect(watcher.count == 0)
        while watcher.isRunning { try await Task.sleep(for: .milliseconds(5)) }
        // The next watch starts it again.
        let again = await watch("file")
        try replace("file", with: "")
        await again.next()
        again.watch.end()
    }

    @Test("a watch that ends before its first look leaves nothing")
    func endsEarly() async throws {
        for _ in 0..<200 { FileWatch(of: scratch.path("file"), by: watcher) {}.end() }
        await looked(at: scratch.path("file"))
        #expect(watcher.count == 0)
        while watcher.isRunning { try await Task.sleep(for: .milliseconds(5)) }
    }

    @Test("watches that begin and end on many threads disturb no other")
    func atOnce() async throws {
        let lasting = await watch("lasting")
        await withDiscardingTaskGroup { group in
            for number in 0..<8 {
                group.addTask {
                    for _ in 0..<50 { await watch("file\(number)").watch.end() }
                }
            }
        }
        #expect(watcher.count == 1)
        try replace("lasting", with: "")
        await lasting.next()
    }
}
#endif
