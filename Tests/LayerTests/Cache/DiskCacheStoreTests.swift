@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Responses on a disk", .timeLimit(.minutes(10))) struct DiskCacheStoreTests {
    private let scratch: Scratch
    private let key = CacheSample.key()

    init() throws {
        scratch = try Scratch()
    }

    private var folder: String { scratch.path("cache") }

    private func store(bytes: Int = 1 << 20, waitLimits: DiskCacheStore.WaitLimits = .init()) -> DiskCacheStore {
        DiskCacheStore(folder, bytes: bytes, waitLimits: waitLimits)
    }

    /// The lengths of all files of responses, by their paths.
    private func lengths() -> [String: Int] {
        responseFiles(in: folder).reduce(into: [:]) { lengths, name in
            lengths[name] = FileManager.default.contents(atPath: "\(folder)/\(name)")?.count
        }
    }

    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.posixPermissions] as? Int)
    }

    @Test("K9: folders are for their owner alone, and so are files")
    func modes() async throws {
        try await withoutDiskThreads {
            await store().put(CacheSample.response(), key)
            await store().put(CacheSample.response(vary: "1"), CacheSample.key("/y", session: UUID()))
            let all = try FileManager.default.subpathsOfDirectory(atPath: folder)
            #expect(try mode(folder) == 0o700 && all.count == 6)
            for name in all {
                let path = "\(folder)/\(name)"
                let isFolder = (try? FileManager.default.contentsOfDirectory(atPath: path)) != nil
                #expect(try mode(path) == (isFolder ? 0o700 : 0o600), "\(name)")
            }
        }
    }

    @Test("K9: the files never take more than the limit, and the count is exact", arguments: [1, 2] as [UInt64])
    func limit(seed: UInt64) async {
        var random = SeededRandom(seed)
        let limit = 60_000
        await withoutDiskThreads {
            let store = store(bytes: limit)
            var most = 0
            for step in 0..<400 {
                let key = CacheSample.key("/\(random.int(0...40))", session: random.chance(20) ? UUID() : nil)
                switch random.int(0...9) {
                case 0: await store.remove([.resource(key.resource)])
                case 1...3: _ = await store.find(key)
                default: await store.put(CacheSample.response(size: random.int(0...6000)), key)
                }
                guard step % 5 == 0 else { continue }
                let lengths = lengths()
                let bytes = lengths.values.reduce(0, +)
                most = max(most, bytes)
                #expect(bytes <= limit && store.extent == (lengths.count, bytes))
            }
            #expect(most > limit * 3 / 4)
        }
    }

    @Test("K9: two processes that share a folder exceed the limit by a quarter at most")
    func limitOfTwo() async {
        let limit = 100_000
        await withoutDiskThreads {
            let stores = [store(bytes: limit), store(bytes: limit)]
            for number in 0..<300 {
                await stores[number % 2].put(CacheSample.response(size: 2000), CacheSample.key("/\(number)"))
                #expect(lengths().values.reduce(0, +) <= limit * 5 / 4)
            }
        }
    }

    /// Files that are touched when they are used, and younger ones, of which only the process knows that they were.
    @Test(
        "what was used stays; what was not used for the longest time goes first",
        arguments: [(90_000.0, 1000.0), (3000, 50)])
    func eviction(oldest: Double, distance: Double) async throws {
        try await withoutDiskThreads {
            let store = store(bytes: 100_000)
            for number in 0..<40 {
                await store.put(CacheSample.response(size: 2000), CacheSample.key("/\(number)"))
                // Far apart, so that the order does not depend on the resolution of the clock.
                let newest = lengths().keys.max { modified($0) < modified($1) }
                setModified(try #require(newest), ago: oldest - Double(number) * distance)
            }
            // A new process, which has nothing in memory.
            let next = self.store(bytes: 100_000)
            for number in [0, 1] { #expect(await next.find(CacheSample.key("/\(number)")) != nil) }
            for number in 100..<110 { await next.put(CacheSample.response(size: 2000), CacheSample.key("/\(number)")) }
            let last = self.store(bytes: 100_000)
            #expect(await last.find(CacheSample.key("/2")) == nil)
            for path in ["/0", "/1", "/39", "/109"] { #expect(await last.find(CacheSample.key(path)) != nil) }
        }
    }

    @Test("what another process removes is found for a minute at most, each time")
    func removedElsewhere() async {
        let clock = TestClock()
        await withoutDiskThreads {
            let (here, there) = (DiskCacheStore(folder, bytes: 1 << 20, time: clock), store())
            for _ in 0..<2 {
                await there.put(CacheSample.response(), key)
                #expect(await here.find(key) != nil)
                await there.remove([.resource(key.resource)])
                await clock.advance(by: .seconds(60))
                #expect(await here.find(key) == nil)
            }
        }
    }

    @Test("of more variants than a place may have, the oldest go first")
    func oldestVariants() async {
        await withoutDiskThreads {
            let store = store()
            var known: Set<String> = []
            for number in 0..<36 {
                await store.put(CacheSample.response(vary: "\(number)"), key)
                // Far apart, so that the order does not depend on the resolution of the clock.
                for name in lengths().keys where known.insert(name).inserted {
                    setModified(name, ago: 3000 - Double(number) * 50)
                }
            }
            // A new process, which has nothing in memory.
            let next = self.store()
            for number in 0..<36 {
                let found = await next.find(key, a: "\(number)")
                #expect((found != nil) == (number >= 4), "\(number)")
            }
        }
    }

    @Test("a hit writes nothing, unless the file has not been touched for an hour")
    func touched() async throws {
        try await withoutDiskThreads {
            await store().put(CacheSample.response(), key)
            let name = try #require(lengths().keys.first)
            for (ago, isTouched) in [(3000.0, false), (4000, true)] {
                setModified(name, ago: ago)
                let before = modified(name)
                #expect(await store().find(key) != nil)
                #expect((modified(name) > before) == isTouched)
            }
        }
    }

    private func modified(_ name: String) -> Double {
        let attributes = try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")
        return (attributes?[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
    }

    private func setModified(_ name: String, ago: Double) {
        try? FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -ago)], ofItemAtPath: "\(folder)/\(name)")
    }

    @Test("K9: the folder is deleted under a running program: misses, and then it goes on")
    func deleted() async throws {
        try await withoutDiskThreads {
            let store = store()
            await store.put(CacheSample.response(size: 300_000), CacheSample.key("/large"))
            // So large that it is not kept in memory.
            let response = CacheSample.response(size: 200_000)
            for _ in 0..<2 {
                await store.put(response, key)
                #expect(await store.find(key)?.body == response.body)
                try FileManager.default.removeItem(atPath: folder)
                #expect(await store.find(key) == nil)
                #expect(await store.put(response, key) == nil)
                #expect(await self.store().find(key)?.body == response.body, "under the key of the new folder")
            }
            #expect(store.failures == 0)
        }
    }

    @Test("K9: what another process deletes and makes anew is shared again")
    func remade() async throws {
        try await withoutDiskThreads {
            let (one, other) = (store(bytes: 100_000), store(bytes: 100_000))
            for store in [one, other] { await store.put(CacheSample.response(), key) }
            try FileManager.default.removeItem(atPath: folder)
            await one.put(CacheSample.response(), key)
            // Whoever counts the next time finds the new key.
            for number in 0..<20 { await other.put(CacheSample.response(size: 2000), CacheSample.key("/\(number)")) }
            await other.put(CacheSample.response("/last"), CacheSample.key("/last"))
            #expect(await store(bytes: 100_000).find(CacheSample.key("/last")) != nil)
        }
    }

    @Test("K9: what cannot be removed is found no more all the same, and is removed as soon as that is possible")
    func pendingRemovals() async throws {
        try await withoutDiskThreads {
            let session = UUID()
            let named = CacheSample.named("n")
            let keys = [key, CacheSample.key("/y", session: session), named]
            let writer = store()
            for key in keys { await writer.put(CacheSample.response(size: 9, tags: ["t"]), key) }
            let store = store()
            for key in keys { #expect(await store.find(key) != nil) }
            // A file in place of the folder: not even root can remove anything.
            let aside = scratch.path("aside")
            #expect(rename(folder, aside) == 0)
            try scratch.write("", to: "cache")
            await store.remove([.resource(key.resource)])
            store.forget(session)
            await store.remove([.resource(named.resource)])
            #expect(await store.put(CacheSample.response("/z"), CacheSample.key("/z")) == .notWritten)
            #expect(store.failures >= 4)
            unlink(folder)
            #expect(rename(aside, folder) == 0)
            for key in keys { #expect(await store.find(key) == nil) }
            #expect(lengths().count == 3)
            #expect(await store.put(CacheSample.response("/w"), CacheSample.key("/w")) == nil)
            #expect(lengths().count == 1)
            for key in keys { #expect(await self.store().find(key) == nil) }
        }
    }

    @Test("K9: a response that cannot replace the one before it removes that; many removals remove everything")
    func obsolete() async throws {
        try await withoutDiskThreads {
            let store = store()
            for path in ["/x", "/y"] {
                await store.put(CacheSample.response(path, size: 200_000), CacheSample.key(path))
            }
            let aside = scratch.path("aside")
            #expect(rename(folder, aside) == 0)
            try scratch.write("", to: "cache")
            #expect(await store.put(CacheSample.response(size: 200_000, at: 9), key) == .notWritten)
            unlink(folder)
            #expect(rename(aside, folder) == 0)
            #expect(await store.find(key) == nil)
            #expect(await store.find(CacheSample.key("/y")) != nil)
            #expect(rename(folder, aside) == 0)
            try scratch.write("", to: "cache")
            await store.remove((0...PendingRemovals.most).map { .tag("\($0)") })
            unlink(folder)
            #expect(rename(aside, folder) == 0)
            #expect(await store.find(CacheSample.key("/y")) == nil)
            #expect(await store.put(CacheSample.response("/z"), CacheSample.key("/z")) == nil)
            #expect(lengths().count == 1)
        }
    }

    @Test("K9: a removal that fails again and again ends in the removal of everything, and the cache works again")
    func hopeless() async throws {
        try await withoutDiskThreads {
            let store = store()
            await store.put(CacheSample.response(), key)
            // A folder that nobody can open, and that can be moved away.
            try FileManager.default.removeItem(atPath: "\(folder)/u")
            #expect(symlink("u", "\(folder)/u") == 0)
            await store.remove([.tag("t")])
            let other = CacheSample.key("/other")
            #expect(await store.put(CacheSample.response("/other"), other) == .notWritten)
            var attempts = 0
            while attempts < 200, await store.put(CacheSample.response("/other"), other) == .notWritten {
                attempts += 1
            }
            #expect(attempts > 5 && attempts < 100)
            #expect(await self.store().find(other) != nil)
            #expect(lengths().count == 1)
        }
    }

    @Test(
        "K9: an error is no missing file: what could not be removed is not found when the error is gone",
        arguments: [("", true), ("/u", true), ("", false)])
    func unknownFile(place: String, isLoop: Bool) async throws {
        try await withoutDiskThreads {
            await store().put(CacheSample.response(size: 9), key)
            let store = store()
            #expect(await store.find(key) != nil)
            // A link to itself in place of a folder, or a file: not even root sees what is in it.
            let (path, aside) = (folder + place, scratch.path("aside"))
            #expect(rename(path, aside) == 0)
            if isLoop { #expect(symlink(path, path) == 0) } else { try scratch.write("", to: "cache") }
            #expect(await store.put(CacheSample.response(size: 300_000, at: 9), key) == .tooLarge)
            #expect(store.failures == 1)
            unlink(path)
            #expect(rename(aside, path) == 0)
            #expect(await store.find(key) == nil)
            #expect(await store.put(CacheSample.response("/y"), CacheSample.key("/y")) == nil)
            #expect(lengths().count == 1)
            #expect(await self.store().find(key) == nil)
        }
    }

    @Test("K9: what a response would have replaced that depends on less is not found after its write has failed")
    func obsoletePlain() async throws {
        try await withoutDiskThreads {
            await store().put(CacheSample.response(size: 9), key)
            let store = store()
            let aside = scratch.path("aside")
            #expect(rename(folder, aside) == 0)
            try scratch.write("", to: "cache")
            #expect(await store.put(CacheSample.response(vary: "sv", at: 9), key) == .notWritten)
            unlink(folder)
            #expect(rename(aside, folder) == 0)
            #expect(await store.find(key, a: "de") == nil)
        }
    }

    #if os(Linux)
    @Test(
        "K9: on a full disk nothing is wrong and no call fails; when there is room, it goes on",
        .enabled(if: TemporaryFileSystem.isAllowed, "no file system can be mounted"))
    func fullDisk() async throws {
        try await withoutDiskThreads {
            let disk = try TemporaryFileSystem(bytes: 1 << 20)
            let store = DiskCacheStore(disk.path("cache"), bytes: 64 << 20)
            var refused = 0
            for number in 0..<400 {
                let key = CacheSample.key("/\(number % 50)")
                let response = CacheSample.response(size: 30_000, letter: UInt8(number % 250), at: Double(number))
                if await store.put(response, key) != nil { refused += 1 }
                let found = await DiskCacheStore(disk.path("cache"), bytes: 64 << 20).find(key)
                #expect(found == nil || found?.body == response.body, "\(number)")
            }
            #expect(refused > 10 && store.failures >= refused)
            await store.remove([.everything])
            #expect(await store.put(CacheSample.response(), key) == nil)
        }
    }
    #endif
}
