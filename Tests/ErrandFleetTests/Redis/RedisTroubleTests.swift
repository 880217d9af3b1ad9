#if os(Linux)
import Errand
@testable import ErrandFleet
import ErrandTestSupport
import Foundation
import Testing

@Suite(
    "Troubles of a store in Redis", .enabled(if: ServerProgram.redis.isInstalled, "redis-server is not installed"),
    .timeLimit(.minutes(10)))
struct RedisTroubleTests {
    private func error(of body: () async throws -> Void) async -> FleetStoreError {
        do {
            try await body()
        } catch {
            return error as? FleetStoreError ?? FleetStoreError(.other, "\(error)")
        }
        return FleetStoreError(.other, "no error")
    }

    @Test("a wrong password, none, and a user without permissions are refused")
    func users() async throws {
        let server = try await RedisServer(RedisServer.durable + ["--requirepass", "secret"], password: "secret")
        for credentials in [nil, .password("wrong"), .user("nobody", password: "secret")] as [RedisCredentials?] {
            let store = RedisFleetStore(server.address, credentials: credentials)
            let refused = await error { _ = try await store.read("errand/a") }
            #expect(refused.kind == .refused)
            #expect(!refused.message.contains("secret"))
            #expect(await storeProblem { try await store.write([1], to: "errand/a", replacing: nil) } == .refused)
            #expect(await storeProblem { try await store.changes(of: "errand/a").first { _ in true } } == .refused)
        }
        try await server.setUser("node", RedisStoreTests.rules + " >secret")
        let node = RedisFleetStore(server.address, credentials: .user("node", password: "secret"))
        #expect(try await node.read("errand/a") == nil)
        #expect(await storeProblem { try await node.read("other/a") } == .refused)
        #expect(await storeProblem { try await node.write([1], to: "other/a", replacing: nil) } == .refused)
        #expect(await storeProblem { try await node.changes(of: "other/a").first { _ in true } } == .refused)
        #expect(await node.warnings().isEmpty)
        for missing in ["-hset", "+hset -publish", "+publish -set", "+set resetchannels", "-subscribe &*"] {
            try await server.setUser("node", missing)
            let isWatch = missing.hasPrefix("-subscribe")
            let problem = await storeProblem {
                if isWatch { return try await node.changes(of: "errand/b").first { _ in true } ?? nil }
                _ = try await node.write([1], to: "errand/b", replacing: node.read("errand/b")?.revision)
                return nil
            }
            #expect(problem == .refused, "\(missing)")
        }
    }

    @Test("a replica, a node of a cluster and a Sentinel are refused with words")
    func otherServers() async throws {
        let primary = try await RedisServer()
        let replica = try await RedisServer(RedisServer.durable + ["--replicaof", "127.0.0.1 \(primary.port)"])
        let bus = try ServerProgram.freePorts(1)[0]
        let cluster = try await RedisServer(["--cluster-enabled", "yes", "--cluster-port", "\(bus)"])
        let sentinel = try await RedisServer([], isSentinel: true)
        for (server, words) in [(replica, "is a replica"), (cluster, "Redis Cluster"), (sentinel, "Sentinel")] {
            let store = RedisFleetStore(server.address)
            let refused = await error { _ = try await store.read("a") }
            #expect([.refused, .invalid].contains(refused.kind))
            #expect(refused.message.contains(words), "\(refused)")
            #expect(await store.warnings() == [refused.message])
        }
    }

    @Test("a server that becomes a replica refuses writes with words, and is used again when it is a primary one")
    func readOnly() async throws {
        let server = try await RedisServer()
        let store = RedisFleetStore(server.address)
        let revision = try await written([1], to: "a", in: store)
        // Its connection is kept: another one would be refused.
        let administrator = RedisClient(
            RedisLoop.Settings(
                address: try RedisAddress(server.address), timeout: .seconds(20), idleTime: .seconds(600),
                checkInterval: .seconds(3600)))
        _ = try await administrator.answer(to: RedisCommand("REPLICAOF", "127.0.0.1", "1"), isRepeatable: false)
        let refused = await error { _ = try await store.write([2], to: "a", replacing: revision) }
        #expect(refused.kind == .refused)
        #expect(refused.message.contains("is a replica"))
        // Another connection sees it in the greeting.
        #expect(await storeProblem { try await store.read("a") } == .refused)
        _ = try await administrator.answer(to: RedisCommand("REPLICAOF", "NO", "ONE"), isRepeatable: false)
        #expect(try await written([2], to: "a", replacing: revision, in: store) > revision)
    }

    @Test("a key of another type, and a hash that is no record, are damage")
    func wrongType() async throws {
        let server = try await RedisServer()
        let store = RedisFleetStore(server.address)
        try await server.call("SET", "a", "x")
        let damage = await error { _ = try await store.read("a") }
        #expect(damage.kind == .damaged)
        #expect(damage.message.contains("under a"))
        #expect(await storeProblem { try await store.write([1], to: "a", replacing: nil) } == .damaged)
        #expect(await storeProblem { try await store.changes(of: "a").first { _ in true } } == .damaged)
        try await server.call("HSET", "b", "r", "x", "b", "y")
        #expect(await storeProblem { try await store.read("b") } == .damaged)
        #expect(await storeProblem { try await store.write([1], to: "b", replacing: nil) } == .damaged)
        try await server.call("SADD", "errand:revisions", "x")
        #expect(await storeProblem { try await store.write([1], to: "c", replacing: nil) } == .damaged)
        try await server.call("DEL", "errand:revisions")
        try await server.call("SET", "errand:revisions", "9007199254740991")
        #expect(await storeProblem { try await store.write([1], to: "c", replacing: nil) } == .other)
    }

    @Test("F5: a Redis without memory is full, is still read, and a record can be removed")
    func full() async throws {
        let server = try await RedisServer(RedisServer.durable + ["--maxmemory", "4mb"])
        let store = RedisFleetStore(server.address)
        let first = try await written([1], to: "a", in: store)
        var problem: FleetStoreError.Kind?
        for number in 0..<30 where problem == nil {
            problem = await storeProblem {
                _ = try await written([UInt8](repeating: 7, count: 400_000), to: "b/\(number)", in: store)
            }
        }
        #expect(problem == .full)
        #expect(try await store.read("a")?.revision == first)
        #expect(try await store.write(nil, to: "a", replacing: first) == .written(nil))
    }

    @Test("F5: a Redis that is killed has its records when it is back, and a watch sees what was written since")
    func restart() async throws {
        let server = try await RedisServer()
        let store = RedisFleetStore(server.address)
        let first = try await written([1], to: "a", in: store)
        var watch = store.changes(of: "a").makeAsyncIterator()
        #expect(try await watch.next()??.revision == first)
        await server.kill()
        #expect(await storeProblem { try await store.read("a") } == .unreachable)
        #expect(await storeProblem { try await store.write([2], to: "a", replacing: first) } == .unreachable)
        #expect(await endProblem(of: &watch) == .unreachable)
        try await server.start()
        #expect(try await store.read("a") == FleetRecord(bytes: [1], revision: first))
        var next = store.changes(of: "a").makeAsyncIterator()
        #expect(try await next.next()??.revision == first)
        let second = try await written([2], to: "a", replacing: first, in: store)
        #expect(second > first)
        #expect(try await next.next()??.revision == second)
    }

    @Test("revisions grow when the server has lost everything")
    func lostRevisions() async throws {
        let server = try await RedisServer()
        let store = RedisFleetStore(server.address)
        var last = try await written([1], to: "a", in: store)
        for _ in 0..<5 {
            try await server.call("FLUSHALL")
            #expect(try await store.read("a") == nil)
            #expect(try await store.write([2], to: "a", replacing: last) == .changed(nil))
            let next = try await written([2], to: "a", in: store)
            #expect(next > last)
            last = next
        }
        try await server.call("SET", "errand:revisions", "4102444800000000")
        #expect(try await written([3], to: "a", replacing: last, in: store) == FleetRevision(4_102_444_800_000_001))
    }

    @Test("a removed record leaves no key behind, and databases share no changes")
    func keys() async throws {
        let server = try await RedisServer()
        let store = RedisFleetStore(server.address)
        let other = RedisFleetStore("\(server.address)/2")
        let revision = try await written([1], to: "a", in: store)
        #expect(try await other.read("a") == nil)
        var watch = other.changes(of: "a").makeAsyncIterator()
        #expect(try await watch.next() == .some(.none))
        let second = try await written([2], to: "a", replacing: revision, in: store)
        let third = try await written([3], to: "a", in: other)
        #expect(try await watch.next()??.revision == third)
        #expect(try await store.write(nil, to: "a", replacing: second) == .written(nil))
        #expect(try await server.call("KEYS", "*") == .list([.text(Array("errand:revisions".utf8))]))
        #expect(await storeProblem { try await RedisFleetStore("\(server.address)/99").read("a") } == .invalid)
    }

    @Test("F5: a Redis that is stopped is unreachable after the timeout, and is used again when it continues")
    func suspended() async throws {
        let server = try await RedisServer()
        let hasty = RedisFleetStore(server.address, timeout: .milliseconds(500))
        let patient = RedisFleetStore(server.address, timeout: .seconds(60))
        let first = try await written([1], to: "a", in: hasty)
        var watch = hasty.changes(of: "a").makeAsyncIterator()
        #expect(try await watch.next()??.revision == first)
        try await server.suspend()
        let silent = await error { _ = try await hasty.write([2], to: "a", replacing: first) }
        #expect(silent.kind == .unreachable)
        #expect(silent.message.contains("has not answered in 500 ms"))
        #expect(await storeProblem { try await hasty.read("a") } == .unreachable)
        #expect(await endProblem(of: &watch) == .unreachable)
        server.resume()
        let record = try #require(try await patient.read("a"))
        // The write may have been made, once, or may still be until the revision changes.
        #expect([[1], [2]].contains(record.bytes))
        var next = patient.changes(of: "a").makeAsyncIterator()
        #expect(try await next.next() != nil)
    }

    @Test("many tasks at once, half of which are canceled: all end, and nobody gets the answer of another")
    func manyTasks() async throws {
        let server = try await RedisServer()
        let store = RedisFleetStore(server.address, timeout: .seconds(60))
        for number in 0..<50 { _ = try await written(Array("\(number)".utf8), to: "k/\(number)", in: store) }
        let wrong = Noted(0)
        for _ in 0..<4 {
            let tasks = (0..<500).map { number in
                Task {
                    let key = "k/\(number % 50)"
                    do throws(FleetStoreError) {
                        let record = try await store.read(key)
                        if record?.bytes != Array("\(number % 50)".utf8) { wrong.update { $0 += 1 } }
                        guard number.isMultiple(of: 3) else { return }
                        let outcome = try await store.write(record?.bytes, to: key, replacing: record?.revision)
                        if case .changed(let other) = outcome, other?.bytes != record?.bytes {
                            wrong.update { $0 += 1 }
                        }
                    } catch {
                        if error.kind != .cancelled { wrong.update { $0 += 1 } }
                    }
                }
            }
            for (index, task) in tasks.enumerated() where index.isMultiple(of: 2) {
                task.cancel()
                if index.isMultiple(of: 50) { await Task.yield() }
            }
            for task in tasks { await task.value }
        }
        #expect(wrong.value == 0)
        #expect(try await store.read("k/7")?.bytes == Array("7".utf8))
    }

    @Test("C99: in a cancellation handler, a store can be used while the canceled tasks hear of a change")
    func cancellationHandlers() async throws {
        let server = try await RedisServer(["--appendonly", "no"])
        let store = RedisFleetStore(server.address, timeout: .seconds(60))
        let isFree = try await LockedTask.canUse {
            let record = try? await store.read("a")
            _ = try? await store.write([1], to: "a", replacing: record?.revision)
        } ends: {
            let last = try? await store.read("a")
            _ = try? await store.changes(of: "a").first { $0 != last }
        } _: {
            _ = store.changes(of: "a")
        }
        #expect(isFree)
    }

    @Test("an operator is warned of what loses records")
    func warnings() async throws {
        let good = try await RedisServer(RedisServer.durable + ["--maxmemory", "100mb"])
        #expect(await RedisFleetStore(good.address).warnings() == [])
        let replica = try await RedisServer(["--replicaof", "127.0.0.1 \(good.port)"])
        let store = RedisFleetStore(good.address)
        for _ in 0..<600 where await store.warnings().isEmpty { try await Task.sleep(for: .milliseconds(100)) }
        #expect(await store.warnings().contains { $0.contains("replicas") })
        await replica.kill()
        let options = ["--appendonly", "yes", "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]
        let careless = try await RedisServer(options)
        let warnings = await RedisFleetStore(careless.address).warnings()
        #expect(warnings.contains { $0.contains("appendfsync everysec") })
        #expect(warnings.contains { $0.contains("maxmemory-policy allkeys-lru") })
        #expect(warnings.count == 2)
        try await careless.setUser("node", RedisStoreTests.rules + " -config|get >secret")
        let blind = RedisFleetStore(careless.address, credentials: .user("node", password: "secret"))
        #expect(await blind.warnings().contains { $0.contains("config|get") })
        let forgetful = try await RedisServer(["--appendonly", "no"])
        #expect(await RedisFleetStore(forgetful.address).warnings().contains { $0.contains("appendonly yes") })
        await forgetful.kill()
        #expect(await RedisFleetStore(forgetful.address).warnings().contains { $0.contains("cannot be reached") })
    }
}
#endif
