import Errand
import ErrandFleet
import ErrandSimulation
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("What a node reports of its store", .timeLimit(.minutes(10))) struct LimitTroubleTests {
    private let clock = TestClock()
    private let store = MemoryFleetStore()
    private let limit: RateLimit = .requests(20, per: .seconds(1))

    private func fleet(_ node: String, in store: any FleetStore) -> Fleet {
        Fleet(store: store, name: "billing", node: node, lifetime: .seconds(6), time: clock)
    }

    /// Has other nodes move permits, so that there is something to read, for that long.
    private func movePermits(between nodes: [Fleet], for duration: Duration) async {
        let end = clock.now.advanced(by: duration)
        let limiters = nodes.map { $0.limiter("api", limit) }
        while clock.now < end {
            for limiter in limiters { _ = await clock.taken(from: limiter, for: .milliseconds(700)) }
        }
    }

    /// Notes the events of a node from now on.
    private func listen(to fleet: Fleet) -> (seen: Noted<[Fleet.Event]>, listening: Task<Void, Never>) {
        let (events, seen) = (fleet.events, Noted<[Fleet.Event]>([]))
        let listening = Task(executorPreference: clock.executor) {
            for await event in events { seen.update { $0.append(event) } }
        }
        return (seen, listening)
    }

    @Test("F5: a node that cannot renew its record for a lifetime says so once, and when it can again")
    func lapsed() async {
        let path = TroubledStore(store)
        let node = fleet("a", in: path)
        let limiter = node.limiter("api", limit)
        let (seen, listening) = listen(to: node)
        await clock.run {
            _ = await clock.taken(from: limiter, for: .seconds(3))
            path.failure = TroubledStore.unreachable
            _ = await clock.taken(from: limiter, for: .seconds(20))
            #expect(seen.value == [.storeFailed(TroubledStore.unreachable), .permitsLost])
            path.failure = nil
            _ = await clock.taken(from: limiter, for: .seconds(5))
            #expect(seen.value == [.storeFailed(TroubledStore.unreachable), .permitsLost, .storeRecovered])
            await node.leave()
        }
        listening.cancel()
        withExtendedLifetime(limiter) {}
    }

    @Test("a call whose deadline comes before the store's first answer names the store, and so does the snapshot")
    func silentStore() async throws {
        let gate = Gate(at: 0)
        let path = FaultyStore(store, gate: gate, isMute: true)
        let node = fleet("a", in: path)
        let limiter = node.limiter("api", limit)
        try await clock.run {
            let error = await thrownError { () async throws(ServiceError) in
                try await limiter.acquire(before: clock.now.advanced(by: .seconds(3)))
            }
            #expect("\(error as Any)".contains("store has not answered"), "\(error as Any)")
            let problem = try #require(node.snapshot.limits.first?.problem)
            #expect(problem.contains("has not answered"))
            gate.open()
            await node.leave()
        }
        withExtendedLifetime(limiter) {}
    }

    @Test("F5: a node whose watch is silent works by reads beside it, and says so")
    func silentWatch() async {
        let (silent, other) = (fleet("s", in: FaultyStore(store, isMute: true)), fleet("o", in: store))
        let limiters = (silent.limiter("api", limit), other.limiter("api", limit))
        let (seen, listening) = listen(to: silent)
        await clock.run {
            async let own = clock.taken(from: limiters.0, for: .seconds(80))
            async let others = clock.taken(from: limiters.1, for: .seconds(80))
            let (one, two) = await (own, others)
            #expect(one.count > 20, "from when the record was read on")
            #expect(Stamps.largestCount((one + two).map(\.nanoseconds), in: .seconds(1)) <= 20)
            let isTold = seen.value.contains { event in
                if case .storeFailed(let error) = event { error.message.contains("does not report") } else { false }
            }
            #expect(isTold)
            await silent.leave()
            await other.leave()
        }
        listening.cancel()
        withExtendedLifetime(limiters) {}
    }

    @Test(
        "F5: a user who may read, and not write, is reported once, and so is the end of that",
        arguments: ["errand/billing/limits/", "errand/billing/"])
    func readOnly(keys: String) async {
        let refusing = RefusingStore(store, keys: keys)
        let (reader, first, second) = (fleet("r", in: refusing), fleet("a", in: store), fleet("b", in: store))
        // The first renewal fails as soon as there is a limiter.
        let (seen, listening) = listen(to: reader)
        let limiter = reader.limiter("api", limit)
        await clock.run {
            async let moving: Void = movePermits(between: [first, second], for: .seconds(20))
            let failures = Noted(0)
            let end = clock.now.advanced(by: .seconds(20))
            while clock.now < end {
                let error = await thrownError { () async throws(ServiceError) in
                    try await limiter.acquire(before: end)
                }
                if "\(error as Any)".contains(RefusingStore.refusal.message) { failures.update { $0 += 1 } }
                try? await clock.sleep(for: .milliseconds(300))
            }
            await moving
            #expect(failures.value > 10)
            #expect(reader.snapshot.limits.first?.problem?.contains(RefusingStore.refusal.message) == true)
            #expect(seen.value == [.storeFailed(RefusingStore.refusal)])
            refusing.isRefusing.value = false
            // Each change of the record lets calls try again.
            async let more: Void = movePermits(between: [first, second], for: .seconds(4))
            try? await clock.sleep(for: .seconds(3))
            await #expect(throws: Never.self) { try await limiter.acquire() }
            await more
            #expect(reader.snapshot.limits.first?.problem == nil)
            #expect(seen.value == [.storeFailed(RefusingStore.refusal), .storeRecovered])
            for node in [reader, first, second] { await node.leave() }
        }
        listening.cancel()
        withExtendedLifetime(limiter) {}
    }

    @Test("F5: a failed look at another node is over when there is none to look at any more")
    func otherNodeLeaves() async {
        let refusing = RefusingStore(store, keys: "errand/billing/nodes/")
        refusing.isRefusing.value = false
        let (reader, other) = (fleet("r", in: refusing), fleet("b", in: store))
        let (seen, listening) = listen(to: reader)
        let limiters = [reader.limiter("api", limit), other.limiter("api", limit)]
        await clock.run {
            // Both need permits, so that both are in the record.
            async let others = clock.taken(from: limiters[1], for: .seconds(10))
            _ = await clock.taken(from: limiters[0], for: .seconds(2))
            refusing.refusesReads.value = true
            _ = await clock.taken(from: limiters[0], for: .seconds(8))
            _ = await others
            #expect(seen.value == [.storeFailed(RefusingStore.refusal)])
            #expect(reader.snapshot.limits.first?.problem != nil)
            await other.leave()
            _ = await clock.taken(from: limiters[0], for: .seconds(8))
            #expect(seen.value == [.storeFailed(RefusingStore.refusal), .storeRecovered])
            #expect(reader.snapshot.limits.first?.problem == nil)
            await reader.leave()
        }
        listening.cancel()
        withExtendedLifetime(limiters) {}
    }
}

/// A store whose user may read all records, and not write those under some keys, or also not read them.
private final class RefusingStore: FleetStore {
    static let refusal = FleetStoreError(.refused, "the user of the test may not write")

    let isRefusing = Noted(true)
    let refusesReads = Noted(false)
    private let store: any FleetStore
    private let keys: String

    init(_ store: any FleetStore, keys: String) {
        self.store = store
        self.keys = keys
    }

    func read(_ key: String) async throws(FleetStoreError) -> FleetRecord? {
        if refusesReads.value, key.hasPrefix(keys) { throw Self.refusal }
        return try await store.read(key)
    }

    func write(
        _ bytes: [UInt8]?, to key: String, replacing revision: FleetRevision?
    ) async throws(FleetStoreError) -> FleetWrite {
        if isRefusing.value, key.hasPrefix(keys) { throw Self.refusal }
        return try await store.write(bytes, to: key, replacing: revision)
    }

    func changes(of key: String) -> AsyncThrowingStream<FleetRecord?, any Error> { store.changes(of: key) }
}
