import ErrandFleet
import ErrandSimulation
import ErrandTestSupport
import Testing

/// One seed is one walk: over another store, every request leaves at the same instant, or a store breaks a promise.
@Suite("A walk over each store", .timeLimit(.minutes(5))) struct LimitWalkStoreTests {
    private func settings() -> LimitWalk.Settings {
        LimitWalk.Settings(
            nodes: 5, permits: 20, lifetime: .seconds(3), trouble: 1, hasSkew: true, costs: [1, 1, 2, 5],
            refusals: 0.005, lowering: .on429(recoveringEvery: .seconds(2)))
    }

    @Test(
        "F12: a walk over a folder is the simulated one, and the checker finds nothing",
        arguments: LongRun.isWanted ? [1, 2] : [1])
    func folder(seed: UInt64) async throws {
        let scratch = try Scratch()
        try await compare(FileFleetStore(folder: scratch.path("store")), seed: seed)
    }

    #if os(Linux)
    @Test(
        "F12: a walk over etcd is the simulated one, and the checker finds nothing",
        .enabled(if: ServerProgram.etcd.isInstalled, "etcd is not installed"))
    func etcd() async throws {
        let cluster = try await EtcdCluster()
        let store = EtcdFleetStore(cluster.addresses, timeout: .seconds(60))
        try await cluster.isReady(for: store)
        try await compare(store, seed: 3)
    }

    @Test(
        "F12: a walk over Redis is the simulated one, and the checker finds nothing",
        .enabled(if: ServerProgram.redis.isInstalled, "redis-server is not installed"))
    func redis() async throws {
        let server = try await RedisServer()
        try await compare(RedisFleetStore(server.address, timeout: .seconds(60)), seed: 3)
        await server.kill()
    }
    #endif

    private func compare(_ store: any FleetStore, seed: UInt64) async throws {
        var simulated = LimitWalk(settings(), over: MemoryFleetStore(), seed: seed)
        try await pass(&simulated)
        var walk = LimitWalk(settings(), over: store, seed: seed)
        let reported = Noted<[FleetRecord?]>([])
        let watch = Task {
            while !Task.isCancelled {
                do {
                    for try await record in store.changes(of: WalkStore.limitKey) {
                        reported.update { $0.append(record) }
                    }
                } catch {
                    // Its reader begins another, but not at once.
                    try? await Task.sleep(for: .milliseconds(50))
                }
            }
        }
        defer { watch.cancel() }
        try await pass(&walk)
        let last = try await store.read(WalkStore.limitKey)
        for _ in 0..<300 where reported.value.last != last { try await Task.sleep(for: .milliseconds(100)) }
        walk.checker.checkWatch(reported.value, of: walk.store.written)
        #expect(reported.value.count > 10)
        for walk in [simulated, walk] {
            #expect(walk.faults.isEmpty)
            #expect(walk.checker.largestSum(in: .seconds(1)) <= 20)
            #expect(walk.checker.sends > 100)
        }
        #expect(walk.stamps == simulated.stamps)
        #expect(walk.limitRecord == simulated.limitRecord)
        #expect(walk.steps == simulated.steps)
    }

    private func pass(_ walk: inout LimitWalk) async throws {
        for index in walk.machines.indices { walk.setLoad(1, of: index) }
        try await walk.run(seconds: LongRun.isWanted ? 60 : 20)
        walk.calm()
        try await walk.run(seconds: 10)
    }
}
