@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

@Suite("A cache in a folder with many users, names and tags", .timeLimit(.minutes(10))) struct DiskCacheScaleTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    private var folder: String { scratch.path("cache") }

    private func store(bytes: Int = 64 << 20) -> DiskCacheStore { DiskCacheStore(folder, bytes: bytes) }

    private func user(_ number: Int) -> CacheKey { CacheSample.key(credentials: Array(String(number).utf8)) }

    /// A folder with so many responses to one URL, each to another user, and as many with names, tags and groups.
    private func filled(_ count: Int) -> CacheFolder {
        let folder = CacheFolder(scratch.path("\(count)"))
        for number in 0..<count {
            let named = CacheSample.response("/\(number)", tags: ["\(number)"], groups: "\"\(number)\"")
            for (response, key) in [(CacheSample.response(), user(number)), (named, CacheSample.named("\(number)"))] {
                #expect(throws: Never.self) { try folder.write(response, at: key) { false } }
            }
        }
        return folder
    }

    @Test("K9: a lookup takes no longer with many users of a URL than with few")
    func lookups() {
        // Four times as many would take four times as long, if all were looked at.
        let factor = Growth.factor(filled, size: 250, upTo: 2) { folder in
            #expect(throws: Never.self) { try folder.read(user(7)) { _ in true } }
        }
        #expect(factor <= 2)
    }

    @Test(
        "K6, K9: a removal takes no longer with many responses that have names, tags and groups than with few",
        arguments: [
            CacheRemoval.tag("none"), .group("none", CacheSample.url.origin),
            .resource(CacheSample.key("/none").resource), .resource(CacheSample.named("none").resource),
        ])
    func removals(removal: CacheRemoval) {
        let factor = Growth.factor(filled, size: 250, upTo: 2) { folder in
            #expect(throws: Never.self) { try folder.remove([removal]) }
        }
        #expect(factor <= 2)
    }

    @Test("K7, K9: each user of a URL finds what is theirs, in the next process too, and a removal is for all")
    func users() async {
        await withoutDiskThreads {
            let (store, count) = (store(), 60)
            for number in 0..<count {
                await store.put(CacheSample.response(size: 3, letter: UInt8(number)), user(number))
            }
            let next = self.store()
            for number in 0..<count { #expect(await next.find(user(number))?.body.first == UInt8(number)) }
            #expect(await next.find(user(count)) == nil)
            #expect(next.extent.responses == count)
            await next.remove([.resource(user(0).resource)])
            #expect(responseFiles(in: folder).isEmpty && next.extent == (0, 0))
        }
    }

    @Test("K6, K9: a tag, a group and the URL behind a name lead to their responses, also in the next process")
    func marks() async {
        let cases: [(CacheRemoval, CacheKey)] = [
            (.tag("t"), CacheSample.key("/1")), (.group("g", CacheSample.url.origin), CacheSample.key("/2")),
            (.resource(CacheSample.key("/3").resource), CacheSample.named("n")), (.tag("t"), user(4)),
        ]
        await withoutDiskThreads {
            let first = store()
            for (number, (_, key)) in cases.enumerated() {
                let isGroup = number == 1
                await first.put(
                    CacheSample.response("/\(number + 1)", tags: isGroup ? [] : ["t"], groups: isGroup ? "\"g\"" : nil),
                    key)
            }
            await first.put(CacheSample.response("/5"), CacheSample.key("/5"))
            for (removal, key) in [cases[1], cases[2], cases[0]] {
                #expect(await self.store().find(key) != nil)
                await self.store().remove([removal])
                #expect(await self.store().find(key) == nil)
            }
            #expect(await self.store().find(user(4)) == nil)
            #expect(responseFiles(in: folder).count == 1)
        }
    }

    @Test("K9: a response whose marks are lost is not found: a removal would not find it either")
    func lostMarks() async throws {
        try await withoutDiskThreads {
            let (tagged, plain, named) = (CacheSample.key("/1"), CacheSample.key("/2"), CacheSample.named("n"))
            let first = store()
            await first.put(CacheSample.response("/1", tags: ["t"]), tagged)
            await first.put(CacheSample.response("/2"), plain)
            await first.put(CacheSample.response("/3"), named)
            try FileManager.default.removeItem(atPath: "\(folder)/m")
            let store = store()
            #expect(await store.find(plain) != nil)
            for key in [tagged, named] { #expect(await store.find(key) == nil) }
            #expect(responseFiles(in: folder).count == 1)
            await store.put(CacheSample.response("/1", tags: ["t"]), tagged)
            #expect(await self.store().find(tagged) != nil)
        }
    }

    @Test("K9: a count removes marks that lead nowhere, or to what does not have them any more")
    func oldMarks() async throws {
        let marks = { [folder] in
            ((try? FileManager.default.subpathsOfDirectory(atPath: "\(folder)/m")) ?? []).filter { $0.contains("/") }
        }
        func age(_ names: [String], by seconds: Double) throws {
            for name in names {
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSinceNow: -seconds)], ofItemAtPath: "\(folder)/\(name)")
            }
        }
        try await withoutDiskThreads {
            let key = CacheSample.key("/1")
            let first = store()
            await first.put(CacheSample.response("/1", tags: ["a", "b"]), key)
            await first.put(CacheSample.response("/2", tags: ["c"]), CacheSample.key("/2"))
            await first.remove([.resource(CacheSample.key("/2").resource)])
            await first.remove([.resource(key.resource)])
            await first.put(CacheSample.response("/1", tags: ["b"], at: 9), key)
            #expect(marks().count == 3)
            // What is new may belong to a file that is being written.
            _ = store().extent
            #expect(marks().count == 3)
            try age(marks().map { "m/\($0)" }, by: 1000)
            try scratch.write("", to: "cache/m/00-no-mark")
            _ = store().extent
            #expect(marks().count == 1)
            // A file that was used later than it was marked is looked into once.
            try age(marks().map { "m/\($0)" }, by: 1000)
            _ = store().extent
            #expect(marks().count == 1)
            let store = store()
            #expect(await store.find(key) != nil)
            await store.remove([.tag("b")])
            #expect(await self.store().find(key) == nil)
        }
    }

    @Test("K9: a count is exact although files are written and removed between its steps", arguments: [10, 1 << 20])
    func stepwise(limit: Int) async throws {
        try await withoutDiskThreads {
            for number in 0..<100 {
                await store().put(
                    CacheSample.response(size: number), number % 3 == 0 ? user(number) : CacheSample.key("/\(number)"))
            }
            let cacheFolder = CacheFolder(folder)
            var (count, steps) = (CacheFolderCount(of: cacheFolder, limit: limit), 0)
            var random = SeededRandom(7)
            while true {
                if let extent = try count.step(8, isUsed: { _ in false }) {
                    let lengths = responseFiles(in: folder).map {
                        FileManager.default.contents(atPath: "\(folder)/\($0)")?.count ?? 0
                    }
                    #expect(extent == CacheFolder.Extent(responses: lengths.count, bytes: lengths.reduce(0, +)))
                    break
                }
                steps += 1
                let number = random.int(0...120)
                let key = number % 3 == 0 ? user(number) : CacheSample.key("/\(number)")
                if random.chance(50) {
                    _ = try cacheFolder.remove([CacheRemoval.resource(key.resource)])
                } else {
                    _ = try cacheFolder.write(CacheSample.response(size: 1000 + number), at: key) { false }
                }
            }
            #expect(steps > 5)
        }
    }

    @Test(
        "K6, K9: what has lost its marks, and could not be removed, does not come back with those of a later response")
    func revived() async throws {
        try await withoutDiskThreads {
            let key = CacheSample.key("/1")
            await store().put(CacheSample.response("/1", tags: ["t"]), key)
            try FileManager.default.removeItem(atPath: "\(folder)/m")
            await store().remove([.tag("t")])
            #expect(responseFiles(in: folder).count == 1)
            _ = try CacheFolder(folder).write(CacheSample.response("/1", tags: ["t"], at: 9), at: key) { true }
            #expect(await store().find(key) == nil && responseFiles(in: folder).isEmpty)
        }
    }

    @Test("K9: a count removes folders in which there is nothing, and leaves alone what a link leads to")
    func emptyFolders() async throws {
        try await withoutDiskThreads {
            let first = store()
            for number in 0..<40 {
                let key = number % 2 == 0 ? user(number) : CacheSample.key("/\(number)")
                await first.put(CacheSample.response("/\(number)", vary: "1", tags: ["t"]), key)
            }
            await first.put(CacheSample.response("/last"), CacheSample.key("/last"))
            let aside = scratch.path("aside.v")
            try FileManager.default.createDirectory(atPath: aside, withIntermediateDirectories: false)
            try scratch.write(String(repeating: "x", count: 5000), to: "aside.v/mine")
            #expect(symlink(aside, "\(folder)/u/link.v") == 0)
            await first.remove([.tag("t")])
            // What is in a folder has to go first.
            for _ in 0..<2 { #expect(store(bytes: 1200).extent.responses <= 1) }
            let names = try FileManager.default.subpathsOfDirectory(atPath: folder)
            #expect(!names.contains { CachePlace.isFolder($0) && !$0.hasSuffix("link.v") })
            #expect(FileManager.default.fileExists(atPath: "\(aside)/mine"))
        }
    }

    @Test("K6, K9: after another process has made the folder anew, removals are carried out there")
    func remade() async throws {
        try await withoutDiskThreads {
            let session = UUID()
            let cases: [(CacheRemoval, CacheKey)] = [
                (.resource(CacheSample.key("/1").resource), CacheSample.key("/1")),
                (.tag("t"), CacheSample.key("/2")), (.session(session), CacheSample.key("/3", session: session)),
            ]
            for (number, (removal, key)) in cases.enumerated() {
                let response = CacheSample.response("/\(number + 1)", tags: number == 1 ? ["t"] : [])
                let here = store()
                await here.put(response, key)
                try FileManager.default.removeItem(atPath: folder)
                await store().put(response, key)
                if case .session(let session) = removal { here.forget(session) } else { await here.remove([removal]) }
                #expect(await store().find(key) == nil, "\(removal)")
            }
        }
    }

    @Test("K6, K9: a response that would have too many tags with those of its predecessor is not stored, nor is that")
    func inheritedTags() async throws {
        await withoutDiskThreads {
            let key = CacheSample.key("/1")
            func tags(_ range: Range<Int>) -> Set<String> { Set(range.map(String.init)) }
            let store = store()
            #expect(await store.put(CacheSample.response("/1", tags: tags(0..<200)), key) == nil)
            // In another process, which has nothing in memory.
            let next = self.store()
            #expect(await next.put(CacheSample.response("/1", tags: tags(100..<300), at: 9), key) == .tooLarge)
            #expect(responseFiles(in: folder).isEmpty && next.extent == (0, 0))
            #expect(await next.find(key) == nil)
            #expect(await next.put(CacheSample.response("/1", tags: tags(100..<300), at: 9), key) == nil)
        }
    }

    @Test("K9: a file that is lost while it is read no longer counts")
    func lostFiles() async throws {
        try await withoutDiskThreads {
            let store = DiskCacheStore(folder, bytes: 1 << 20)
            for path in ["/1", "/2"] { await store.put(CacheSample.response(path), CacheSample.key(path)) }
            let path = "\(folder)/\(try #require(responseFiles(in: folder).first))"
            try Data("damaged".utf8).write(to: URL(fileURLWithPath: path))
            for path in ["/1", "/2"] { _ = store.look(at: CacheSample.key(path)) { _ in true } }
            #expect(store.extent.responses == 1)
        }
    }
}
