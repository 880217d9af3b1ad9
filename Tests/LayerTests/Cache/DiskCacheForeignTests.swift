@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

@Suite("What others have put into the folder of a cache", .timeLimit(.minutes(10))) struct DiskCacheForeignTests {
    private let scratch: Scratch
    private let key = CacheSample.key()

    init() throws {
        scratch = try Scratch()
    }

    private var folder: String { scratch.path("cache") }

    private func store() -> DiskCacheStore { DiskCacheStore(folder, bytes: 1 << 20) }

    @Test("K9: a folder in place of a file is a miss, and holds up nothing else")
    func folderForFile() async throws {
        try await withoutDiskThreads {
            await store().put(CacheSample.response(), key)
            let path = "\(folder)/\(try #require(responseFiles(in: folder).first))"
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            let store = store()
            #expect(await store.find(key) == nil)
            #expect(await store.put(CacheSample.response(at: 9), key) == .notWritten)
            #expect(await self.store().find(key) == nil)
            #expect(await store.put(CacheSample.response("/y"), CacheSample.key("/y")) == nil)
            #expect(await self.store().find(CacheSample.key("/y")) != nil)
        }
    }

    @Test("K9: a file in place of a folder is nothing, and holds up nothing")
    func fileForFolder() async throws {
        try await withoutDiskThreads {
            let varying = CacheSample.response(vary: "sv")
            await store().put(varying, key)
            let all = try FileManager.default.subpathsOfDirectory(atPath: folder)
            let variants = try #require(all.first { CachePlace.isFolder($0) })
            try FileManager.default.removeItem(atPath: "\(folder)/\(variants)")
            for path in [variants, "u-x"] { try Data("x".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(path)")) }
            let store = store()
            #expect(await store.find(key) == nil)
            await store.remove([.resource(key.resource)])
            await store.remove([.everything])
            #expect(await store.put(CacheSample.response("/y"), CacheSample.key("/y")) == nil)
            #expect(await self.store().find(CacheSample.key("/y")) != nil)
        }
    }

    @Test("K9: what processes left behind that have died is removed")
    func leftovers() async throws {
        try await withoutDiskThreads {
            await store().put(CacheSample.response(), key)
            for name in ["new-1", "new-2"] { try scratch.write("half", to: "cache/\(name)") }
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -1000)], ofItemAtPath: "\(folder)/new-1")
            try FileManager.default.createDirectory(
                atPath: "\(folder)/old-1/a.v", withIntermediateDirectories: true)
            for name in ["old-1/a", "old-1/a.v/b", "mine"] { try scratch.write("rest", to: "cache/\(name)") }
            #expect(store().extent.responses == 1)
            let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
            #expect(names == ["key", "mine", "new-2", "u"])
        }
    }

    @Test("K9: a damaged key is replaced, and what it named goes", arguments: [0, 20, 48])
    func damagedKey(length: Int) async throws {
        try await withoutDiskThreads {
            await store().put(CacheSample.response(), key)
            let path = "\(folder)/key"
            var bytes = try #require(FileManager.default.contents(atPath: path))
            #expect(bytes.count == 48)
            bytes[20] ^= 1
            try bytes.prefix(length).write(to: URL(fileURLWithPath: path))
            let store = store()
            #expect(await store.find(key) == nil)
            await store.put(CacheSample.response("/y"), CacheSample.key("/y"))
            #expect(responseFiles(in: folder).count == 1 && store.failures == 0)
            #expect(await self.store().find(CacheSample.key("/y")) != nil)
        }
    }
}
