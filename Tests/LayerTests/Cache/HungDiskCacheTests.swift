@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A cache on a disk that hangs", .timeLimit(.minutes(10))) struct HungDiskCacheTests {
    private let scratch: Scratch
    private let key = CacheSample.key()

    init() throws {
        scratch = try Scratch()
    }

    private var folder: String { scratch.path("cache") }

    private func store(reading: Duration, writing: Duration = .seconds(600)) -> DiskCacheStore {
        DiskCacheStore(folder, bytes: 1 << 20, waitLimits: .init(reading: reading, writing: writing))
    }

    /// Where a store reads what is at the key.
    private var place: String { "\(folder)/\(key.hashValue)" }

    private func isUnknown(_ store: DiskCacheStore) -> Bool {
        if case .unknown = store.lookup(key, matching: { _ in true }) { true } else { false }
    }

    @Test("K9: a read that takes too long is a miss, others do not wait until it is over, and then it is read again")
    func slowRead() async {
        await store(reading: .seconds(600)).put(CacheSample.response(size: 7), key)
        let store = store(reading: .milliseconds(20))
        let held = await HeldPlace(place)
        #expect(await store.find(key) == nil)
        guard case .nothing = store.lookup(key, matching: { _ in true }) else {
            Issue.record("it waits although the disk hangs")
            return
        }
        held.release()
        // Work at the place is done in order: when this is over, the read is.
        while !isUnknown(store) { await HeldPlace(place).release() }
        let again = self.store(reading: .seconds(600))
        #expect(await again.find(key)?.body.count == 7)
    }

    @Test("K9: a stopped call does not wait for the disk")
    func stopped() async {
        await store(reading: .seconds(600)).put(CacheSample.response(size: 7), key)
        let store = store(reading: .seconds(600))
        let held = await HeldPlace(place)
        let scope = CallScope()
        async let found = store.read(key, in: scope) { _ in true }
        scope.stop(.cancelled)
        #expect(await found == nil)
        held.release()
    }

    @Test("K9: a write that takes too long is not waited for; until it is over there is no older response either")
    func slowWrite() async {
        let large = 200_000
        await store(reading: .seconds(600)).put(CacheSample.response(size: large), key)
        let store = store(reading: .seconds(600), writing: .milliseconds(20))
        #expect(await store.find(key)?.body.count == large)
        let held = await HeldPlace("\(folder)/")
        #expect(await store.put(CacheSample.response(size: large + 1), key) == nil)
        #expect(await store.find(key) == nil)
        await store.remove([.tag("t")])
        held.release()
        // Work at the place is done in order: when this begins, the write is over.
        await HeldPlace("\(folder)/").release()
        #expect(await store.find(key)?.body.count == large + 1)
    }

    @Test("K9: a read that a write has overtaken does not bring the older response back")
    func overtakenRead() async {
        let store = store(reading: .seconds(600))
        let other = self.store(reading: .seconds(600))
        await other.put(CacheSample.response(size: 1), key)
        let (hasBegun, gate) = (Latch(), DispatchSemaphore(value: 0))
        async let old = store.read(key, in: CallScope()) { _ in
            hasBegun.open()
            gate.wait()
            return true
        }
        await hasBegun.opened()
        #expect(await store.put(CacheSample.response(size: 2), key) == nil)
        gate.signal()
        #expect(await old?.body.count == 1)
        #expect(await store.find(key)?.body.count == 2)
    }

    @Test("K9, K11: a read that has found a response before its removal was carried out does not bring it back")
    func overtakenByRemoval() async {
        let store = store(reading: .seconds(600), writing: .milliseconds(20))
        await self.store(reading: .seconds(600)).put(CacheSample.response(size: 1), key)
        let held = await HeldPlace("\(folder)/")
        await store.remove([.resource(key.resource)])
        let (hasBegun, gate) = (Latch(), DispatchSemaphore(value: 0))
        async let old = store.read(key, in: CallScope()) { _ in
            hasBegun.open()
            gate.wait()
            return true
        }
        await hasBegun.opened()
        held.release()
        // When this begins, the removal is carried out.
        await HeldPlace("\(folder)/").release()
        gate.signal()
        #expect(await old == nil)
        #expect(await store.find(key) == nil)
    }

    @Test("K9: what is removed while the disk hangs is found no more")
    func removed() async {
        let large = 200_000
        let store = store(reading: .seconds(600), writing: .milliseconds(20))
        let waiting = self.store(reading: .seconds(600))
        await waiting.put(CacheSample.response(size: large), key)
        let held = await HeldPlace("\(folder)/")
        #expect(await store.find(key) != nil)
        await store.remove([.resource(key.resource)])
        #expect(await store.find(key) == nil)
        held.release()
    }

    @Test("K6, K9: a tag leads to a response while the disk hangs, though the file does not have it yet")
    func tagged() async {
        let large = 200_000
        let response = CacheSample.response(size: large)
        let store = store(reading: .seconds(600), writing: .milliseconds(20))
        await self.store(reading: .seconds(600)).put(response, key)
        let held = await HeldPlace("\(folder)/")
        #expect(await store.find(key)?.tags.contains("late") == false)
        await store.add(["late"], to: response.variant, at: key) { false }
        store.trimMemory(to: 0)
        #expect(await store.find(key)?.tags.contains("late") == true)
        store.trimMemory(to: 0)
        await store.remove([.tag("late")])
        #expect(await store.find(key) == nil)
        held.release()
        await HeldPlace("\(folder)/").release()
        #expect(await store.find(key) == nil)
    }
}
