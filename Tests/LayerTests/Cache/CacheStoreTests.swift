@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

@Suite("What every store of responses does", .timeLimit(.minutes(10))) struct CacheStoreTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    @Test("K3: each variant has its entry, and a new one replaces its own kind only", arguments: CacheKind.allCases)
    func variants(kind: CacheKind) async {
        await withoutDiskThreads {
            let store = kind.store(in: scratch, bytes: 100_000)
            let key = CacheSample.key()
            for (vary, letter) in [("1", 1), ("2", 2), ("1", 3)] as [(String, UInt8)] {
                let response = CacheSample.response(size: 1, letter: letter, vary: vary)
                #expect(await store.put(response, key) == nil)
            }
            #expect(await store.find(key, a: "1")?.body == Data([3]))
            #expect(await store.find(key, a: "2")?.body == Data([2]))
            #expect(await store.find(key, a: "3") == nil && store.extent.responses == 2)
        }
    }

    @Test("K7: each session and each credential has its entry", arguments: CacheKind.allCases)
    func partitions(kind: CacheKind) async {
        await withoutDiskThreads {
            let store = kind.store(in: scratch, bytes: 100_000)
            let (ann, ben) = (UUID(), UUID())
            let keys = [
                CacheSample.key(), CacheSample.key(session: ann), CacheSample.key(session: ben),
                CacheSample.key(credentials: [1]), CacheSample.key(credentials: [2]),
                CacheSample.key(session: ann, credentials: [1]), CacheSample.named("x"), CacheSample.named("y"),
            ]
            for (index, key) in keys.enumerated() {
                await store.put(CacheSample.response(size: 1, letter: UInt8(index)), key)
            }
            for (index, key) in keys.enumerated() { #expect(await store.find(key)?.body == Data([UInt8(index)])) }
            #expect(await store.find(CacheSample.key(credentials: [3])) == nil)
            #expect(await store.find(CacheSample.key(session: UUID())) == nil)
            #expect(store.extent.responses == keys.count)
        }
    }

    @Test("the number of variants is limited", arguments: CacheKind.allCases)
    func manyVariants(kind: CacheKind) async {
        await withoutDiskThreads {
            let store = kind.store(in: scratch, bytes: 10_000_000)
            for number in 0..<100 { await store.put(CacheSample.response(vary: "\(number)"), CacheSample.key()) }
            #expect(store.extent.responses == 32)
            #expect(await store.find(CacheSample.key(), a: "99") != nil)
        }
    }

    @Test(
        "a response that is too large is not stored, and what it would replace is removed",
        arguments: CacheKind.allCases)
    func tooLarge(kind: CacheKind) async {
        await withoutDiskThreads {
            let store = kind.store(in: scratch, bytes: 10_000)
            #expect(await store.put(CacheSample.response(size: 100), CacheSample.key()) == nil)
            #expect(await store.put(CacheSample.response(size: 3000), CacheSample.key()) == .tooLarge)
            #expect(await store.find(CacheSample.key()) == nil && store.extent == (0, 0))
        }
    }

    @Test("K11: a response that was overtaken is not stored", arguments: CacheKind.allCases)
    func overtaken(kind: CacheKind) async {
        await withoutDiskThreads {
            let store = kind.store(in: scratch, bytes: 10_000)
            #expect(await store.insert(CacheSample.response(), at: CacheSample.key()) { true } == .overtaken)
            #expect(await store.find(CacheSample.key()) == nil && store.extent == (0, 0))
        }
    }

    @Test("a response is removed only if it is still stored", arguments: CacheKind.allCases)
    func removedIfStored(kind: CacheKind) async {
        await withoutDiskThreads {
            let store = kind.store(in: scratch, bytes: 10_000)
            let (old, new) = (CacheSample.response(), CacheSample.response(at: 1))
            for response in [old, new] { await store.put(response, CacheSample.key()) }
            await store.remove(old, at: CacheSample.key())
            #expect(await store.find(CacheSample.key())?.freshness.received.date == new.freshness.received.date)
            await store.remove(new, at: CacheSample.key())
            #expect(await store.find(CacheSample.key()) == nil && store.extent == (0, 0))
        }
    }

    @Test("K6, K7: a removal removes what it covers, for everybody, and nothing else", arguments: CacheKind.allCases)
    func removals(kind: CacheKind) async throws {
        let (ann, ben) = (UUID(), UUID())
        let named = CacheSample.named("n")
        let keys =
            [nil, ann, ben].map { CacheSample.key("/x", session: $0) } + [
                CacheSample.key("/y", session: ann), named,
            ]
        let other = Origin(scheme: "https", host: "other.test", port: nil)
        let cases: [(CacheRemoval, Int)] = [
            (.resource(CacheSample.key("/x").resource), 2), (.resource(CacheSample.key("/y").resource), 4),
            (.resource(CacheSample.key("/z").resource), 4), (.resource(CacheSample.key("/q").resource), 5),
            (.resource(named.resource), 4), (.tag("t"), 2), (.tag("u"), 5), (.group("g", CacheSample.url.origin), 4),
            (.group("g", other), 5), (.session(ann), 3), (.session(UUID()), 5), (.everything, 0),
        ]
        for (removal, left) in cases {
            try await withoutDiskThreads {
                let scratch = try Scratch()
                let store = kind.store(in: scratch, bytes: 100_000)
                for key in keys.prefix(3) { await store.put(CacheSample.response("/x", tags: ["t"]), key) }
                await store.put(CacheSample.response("/y", groups: "\"g\""), keys[3])
                await store.put(CacheSample.response("/z"), named)
                // Another process removes what it has not stored itself.
                let remover = kind == .disk ? kind.store(in: scratch, bytes: 100_000) : store
                await remover.remove([removal])
                #expect(remover.extent.responses == left, "\(removal)")
                var found = 0
                for key in keys where await remover.find(key) != nil { found += 1 }
                #expect(found == left, "\(removal)")
            }
        }
    }
}
