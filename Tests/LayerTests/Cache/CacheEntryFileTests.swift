@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

@Suite("The files of a cache", .timeLimit(.minutes(10))) struct CacheEntryFileTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    private func store() -> DiskCacheStore { DiskCacheStore(scratch.path("cache"), bytes: 1 << 20) }

    /// The paths of all files of responses.
    private func entries() -> [String] {
        responseFiles(in: scratch.path("cache")).map { scratch.path("cache/\($0)") }
    }

    private func arbitrary(_ random: inout SeededRandom) -> StoredResponse {
        func text() -> String {
            (0..<random.int(0...12)).map { _ in ["a", "é", "\"", " ", "\t", "0", "日"][random.int(0...6)] }.joined()
        }
        var headers = HTTPHeaders()
        for _ in 0..<random.int(0...5) { headers.add(name: "X-\(random.int(0...3))", value: text()) }
        if random.chance(30) { headers.add(name: "Cache-Groups", value: "\"a\", \"b\"") }
        let directives = [
            "max-age=\(random.int(0...100))", "no-cache", "must-revalidate", "private", "must-understand",
            "stale-while-revalidate=\(random.int(0...9))", "stale-if-error=99999999999999999999", "max-age=oops",
        ].filter { _ in random.chance(30) }
        let control = CacheControl(directives)
        let moment = CacheSample.moment(Double(random.int(0...1000)) / 7)
        let names = ["a", "b", "c"].filter { _ in random.chance(20) }
        return StoredResponse(
            url: CacheSample.url, status: random.int(200...599), headers: headers,
            body: Data((0..<random.int(0...30_000)).map { _ in UInt8(random.int(0...255)) }),
            freshness: CacheFreshness(headers, status: 200, control: control, delay: .seconds(1), received: moment),
            control: control, variant: .of(["A": text()], varyingOn: names) { $0 == "b" }, tags: ["t", text()])
    }

    @Test("K9: 200 arbitrary responses come back in another process as they were")
    func roundTrip() async throws {
        var random = SeededRandom(5)
        try await withoutDiskThreads {
            for _ in 0..<200 {
                let response = arbitrary(&random)
                await store().put(response, CacheSample.key())
                let again = try #require(
                    await store().read(CacheSample.key(), in: CallScope()) { $0 == response.variant })
                #expect(again.url == response.url && again.status == response.status && again.body == response.body)
                #expect(again.headers == response.headers && again.variant == response.variant)
                #expect(again.control == response.control && again.tags == response.tags)
                #expect(again.groups == response.groups)
                #expect(again.freshness.lifetime == response.freshness.lifetime)
                #expect(again.freshness.isGiven == response.freshness.isGiven)
                #expect(again.freshness.initialAge == response.freshness.initialAge)
                #expect(again.freshness.received.date == response.freshness.received.date)
                #expect(again.freshness.received.instant == response.freshness.received.instant, "of one clock")
                await store().remove([.everything])
            }
        }
    }

    @Test("K15: in the same process both clocks count")
    func sameProcess() async throws {
        try await withoutDiskThreads {
            let store = store()
            let response = CacheSample.response(size: 200_000, at: 7)
            await store.put(response, CacheSample.key())
            guard case .unknown = store.lookup(CacheSample.key(), matching: { _ in true }) else {
                Issue.record("it is in memory")
                return
            }
            let again = try #require(await store.find(CacheSample.key()))
            #expect(again.freshness.received.instant == response.freshness.received.instant)
            #expect(again.body == response.body)
        }
    }

    @Test("K9: a file with any bit flipped, or cut at any length, is a miss, and is removed")
    func damaged() async throws {
        try await withoutDiskThreads {
            let response = CacheSample.response(size: 20, vary: "1", tags: ["t"])
            await store().put(response, CacheSample.key())
            let path = try #require(entries().first)
            let whole = try #require(FileManager.default.contents(atPath: path))
            // An odd stride passes each bit of a byte in turn.
            let bits = stride(from: 0, to: whole.count * 8, by: LongRun.isWanted ? 1 : 15)
            var damaged = bits.map { bit in
                var copy = whole
                copy[bit / 8] ^= 1 << (bit % 8)
                return copy
            }
            damaged += (0..<whole.count).map { whole.prefix($0) }
            damaged += [whole + Data([0]), whole + whole, Data(repeating: 0xFF, count: 5000)]
            for bytes in damaged {
                try bytes.write(to: URL(fileURLWithPath: path))
                let store = store()
                #expect(await store.find(CacheSample.key(), a: "1") == nil)
                #expect(store.failures == 0 && !FileManager.default.fileExists(atPath: path))
                try whole.write(to: URL(fileURLWithPath: path))
                chmod(path, 0o600)
            }
            #expect(await store().find(CacheSample.key(), a: "1")?.body == response.body)
        }
    }

    @Test("K9: a file of another version is a miss, and is removed")
    func otherVersion() async throws {
        try await withoutDiskThreads {
            await store().put(CacheSample.response(), CacheSample.key())
            let path = try #require(entries().first)
            var bytes = try #require(FileManager.default.contents(atPath: path))
            #expect(bytes.prefix(8) == Data("ERRANDC\u{2}".utf8))
            bytes[7] = 1
            try bytes.write(to: URL(fileURLWithPath: path))
            #expect(await store().find(CacheSample.key()) == nil)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test("K7, K9: a file at the place of another one is not read")
    func movedFile() async throws {
        try await withoutDiskThreads {
            await store().put(CacheSample.response("/x", size: 1, letter: 1), CacheSample.key("/x"))
            let one = try #require(entries().first)
            await store().put(CacheSample.response("/y", size: 1, letter: 2), CacheSample.key("/y"))
            let other = try #require(entries().first { $0 != one })
            #expect(rename(one, other) == 0)
            #expect(await store().find(CacheSample.key("/y")) == nil)
        }
    }

    @Test("K9: links, folders, pipes, empty files and files of others are misses, and no error")
    func foreign() async throws {
        try await withoutDiskThreads {
            let response = CacheSample.response(size: 9)
            await store().put(response, CacheSample.key())
            let path = try #require(entries().first)
            let whole = try #require(FileManager.default.contents(atPath: path))
            let kept = scratch.path("kept")
            try whole.write(to: URL(fileURLWithPath: kept))
            chmod(kept, 0o600)
            let makers: [() -> Void] = [
                { symlink(kept, path) }, { mkdir(path, 0o700) }, { mkfifo(path, 0o600) },
                { _ = FileManager.default.createFile(atPath: path, contents: Data()) },
                {
                    link(kept, path)
                    chmod(path, 0o644)
                },
            ]
            for make in makers {
                try FileManager.default.removeItem(atPath: path)
                make()
                let store = store()
                #expect(await store.find(CacheSample.key()) == nil)
                #expect(store.failures == 0)
            }
            try FileManager.default.removeItem(atPath: path)
            await store().put(response, CacheSample.key())
            #expect(await store().find(CacheSample.key())?.body == response.body)
        }
    }

    @Test("the checksum is XXH64")
    func checksum() {
        func sum(_ text: String, seed: UInt64 = 0) -> UInt64 { Checksum.of(text, seed: seed) }
        #expect(sum("") == 0xEF46_DB37_51D8_E999)
        #expect(sum("a") == 0xD24E_C4F1_A98C_6E5B)
        #expect(sum("abc") == 0x44BC_2CF5_AD77_0999)
        #expect(sum("Nobody inspects the spammish repetition") == 0xFBCE_A83C_8A37_8BF1)
        #expect(sum("xxhash", seed: 20_141_025) == 0xB559_B98D_844E_0635)
    }
}
