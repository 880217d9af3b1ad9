#if os(Linux)
import Errand
import ErrandFleet
import ErrandSimulation
import ErrandTestSupport
import Foundation
import Testing

@Suite(
    "The store in etcd", .enabled(if: ServerProgram.etcd.isInstalled, "etcd is not installed"),
    .timeLimit(.minutes(10)))
struct EtcdStoreTests {
    private func check(_ open: @escaping @Sendable () -> any FleetStore) async {
        await withTaskGroup { group in
            for rule in FleetStoreConformance.all {
                group.addTask {
                    do {
                        try await rule.check { open() }
                    } catch {
                        Issue.record("\(error)")
                    }
                }
            }
        }
    }

    @Test("F12: one member of etcd keeps the promises of stores")
    func conformance() async throws {
        let cluster = try await EtcdCluster()
        try await cluster.isReady(for: EtcdFleetStore(cluster.addresses))
        await check { EtcdFleetStore(cluster.addresses, timeout: .seconds(20)) }
    }

    @Test("F12: three members of etcd keep the promises, whichever a node calls")
    func conformanceOfThree() async throws {
        let cluster = try await EtcdCluster(3)
        for address in cluster.addresses { try await cluster.isReady(for: EtcdFleetStore([address])) }
        let turn = Noted(0)
        await check {
            turn.update { $0 += 1 }
            let first = turn.value % 3
            let addresses = cluster.addresses[first...] + cluster.addresses[..<first]
            return EtcdFleetStore(Array(addresses), timeout: .seconds(20))
        }
    }

    @Test("F5: while etcd is stopped, reads and writes fail; when it is back, its records are, and watches begin again")
    func restart() async throws {
        let cluster = try await EtcdCluster()
        let store = EtcdFleetStore(cluster.addresses, timeout: .seconds(10))
        try await cluster.isReady(for: store)
        let revision = try await written([1], to: "a", in: store)
        var watch = store.changes(of: "a").makeAsyncIterator()
        #expect(try await watch.next()??.bytes == [1])
        await cluster.kill(0)
        #expect(await storeProblem { try await store.read("a") } == .unreachable)
        #expect(await storeProblem { try await store.write([2], to: "a", replacing: revision) } == .unreachable)
        #expect(await endProblem(of: &watch) == .unreachable)
        try cluster.start(0)
        try await cluster.isReady(for: store)
        #expect(try await store.read("a") == FleetRecord(bytes: [1], revision: revision))
        var next = store.changes(of: "a").makeAsyncIterator()
        #expect(try await next.next()??.bytes == [1])
        let later = try await written([2], to: "a", replacing: revision, in: store)
        #expect(try await next.next()??.revision == later)
    }

    @Test("F5: when the leader of three is killed, no confirmed write is lost, none is made twice, and watches go on")
    func killedLeader() async throws {
        let cluster = try await EtcdCluster(3)
        let store = EtcdFleetStore(cluster.addresses, timeout: .seconds(5))
        for address in cluster.addresses { try await cluster.isReady(for: EtcdFleetStore([address])) }
        var (confirmed, uncertain) = (0, 0)
        let watched = Task {
            var last = 0
            while last < 1000, !Task.isCancelled {
                // A watch whose member is killed may end; whoever reads it begins again.
                do {
                    for try await record in store.changes(of: "sum") {
                        last = record.flatMap { Int(String(decoding: $0.bytes, as: UTF8.self)) } ?? 0
                        if last >= 1000 { return last }
                    }
                } catch { try await Task.sleep(for: .milliseconds(100)) }
            }
            return last
        }
        let leader = try await cluster.leader
        var step = 0
        // While the others elect a leader, which takes a busy machine long, writes may end unconfirmed.
        while step < 60 || confirmed <= 30 {
            if step == 20 { await cluster.kill(leader) }
            step += 1
            do throws(FleetStoreError) {
                let record = try await store.read("sum")
                let number = record.flatMap { Int(String(decoding: $0.bytes, as: UTF8.self)) } ?? 0
                let bytes = Array("\(number + 1)".utf8)
                if case .written = try await store.write(bytes, to: "sum", replacing: record?.revision) {
                    confirmed += 1
                }
            } catch {
                #expect(error.kind == .unreachable)
                uncertain += 1
            }
        }
        let record = try #require(try await store.read("sum"))
        let sum = Int(String(decoding: record.bytes, as: UTF8.self)) ?? 0
        #expect(sum >= confirmed)
        #expect(sum <= confirmed + uncertain)
        _ = try await written(Array("1000".utf8), to: "sum", replacing: record.revision, in: store)
        #expect(try await watched.value == 1000)
    }

    @Test("F5: an etcd that is slow by two seconds is waited for, or a write ends in time and is made once or never")
    func slow() async throws {
        let cluster = try await EtcdCluster()
        let patient = EtcdFleetStore(cluster.addresses, timeout: .seconds(30))
        let hasty = EtcdFleetStore(cluster.addresses, timeout: .milliseconds(500))
        try await cluster.isReady(for: patient)
        let first = try await written([1], to: "a", in: patient)
        try await cluster.suspend(0)
        #expect(await storeProblem { try await hasty.write([2], to: "a", replacing: first) } == .unreachable)
        let resumed = Task {
            try await Task.sleep(for: .seconds(2))
            cluster.resume(0)
        }
        let record = try #require(try await patient.read("a"))
        try await resumed.value
        // The write may have been made, or may be until the revision changes.
        switch try await patient.write([3], to: "a", replacing: first) {
        case .written: #expect(record.bytes == [1])
        case .changed(let found): #expect(found?.bytes == [2])
        }
        #expect([[2], [3]].contains(try await patient.read("a")?.bytes))
    }

    @Test("F5: an etcd without space is full, and is still read")
    func full() async throws {
        let cluster = try await EtcdCluster(options: ["--quota-backend-bytes", "2000000"])
        let store = EtcdFleetStore(cluster.addresses, timeout: .seconds(20))
        try await cluster.isReady(for: store)
        var revision = try await written([1], to: "a", in: store)
        var problem: FleetStoreError.Kind?
        for _ in 0..<20 where problem == nil {
            problem = await storeProblem {
                revision = try await written(
                    [UInt8](repeating: 7, count: 400_000), to: "a", replacing: revision, in: store)
            }
        }
        #expect(problem == .full)
        // The write that was refused may have been made: etcd notices only when it applies it.
        let record = try #require(try await store.read("a"))
        #expect(record.revision >= revision)
        #expect(await store.warnings().contains { $0.contains("NOSPACE") })
    }

    @Test("F5: a watch goes on after a compaction")
    func compaction() async throws {
        let cluster = try await EtcdCluster()
        let store = EtcdFleetStore(cluster.addresses)
        try await cluster.isReady(for: store)
        var revision = try await written([0], to: "a", in: store)
        var watch = store.changes(of: "a").makeAsyncIterator()
        #expect(try await watch.next()??.revision == revision)
        for round in 1...5 {
            revision = try await written([UInt8(round)], to: "a", replacing: revision, in: store)
            try await cluster.call("kv/compaction", ["revision": "\(revision.number)", "physical": true])
            var found = try await watch.next()
            while let record = found ?? nil, record.revision < revision { found = try await watch.next() }
            #expect(found??.revision == revision)
        }
    }

    @Test("users have passwords and permissions; tokens that have expired are replaced")
    func users() async throws {
        let cluster = try await EtcdCluster(options: ["--auth-token-ttl", "1", "--bcrypt-cost", "4"])
        let open = EtcdFleetStore(cluster.addresses)
        try await cluster.isReady(for: open)
        try await addUsers(to: cluster)
        let store = EtcdFleetStore(cluster.addresses, credentials: .user("node", password: "secret"))
        var revision = try await written([1], to: "fleet/a", in: store)
        var watch = store.changes(of: "fleet/a").makeAsyncIterator()
        #expect(try await watch.next()??.revision == revision)
        for round in 2...4 {
            // Longer than a token lives.
            try await Task.sleep(for: .seconds(2))
            revision = try await written([UInt8(round)], to: "fleet/a", replacing: revision, in: store)
            #expect(try await watch.next()??.revision == revision)
        }
        #expect(await storeProblem { try await store.read("other/a") } == .refused)
        #expect(await storeProblem { try await store.write([1], to: "other/a", replacing: nil) } == .refused)
        #expect(await storeProblem { try await store.changes(of: "other/a").first { _ in true } } == .refused)
        #expect(await storeProblem { try await open.read("fleet/a") } == .refused)
        let wrong = EtcdFleetStore(cluster.addresses, credentials: .user("node", password: "wrong"))
        #expect(await storeProblem { try await wrong.read("fleet/a") } == .refused)
        let sessions = FleetSessions(in: wrong, under: "fleet", name: "api", key: try FleetKey(id: "k1"))
        #expect(await sessionProblem { try await sessions.load() } == .other)
        #expect(await sessionProblem { try await sessions.save(nil) } == .other)
    }

    private func addUsers(to cluster: EtcdCluster) async throws {
        func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }
        try await cluster.call("auth/user/add", ["name": "root", "password": "root"])
        try await cluster.call("auth/role/add", ["name": "root"])
        try await cluster.call("auth/user/grant", ["user": "root", "role": "root"])
        try await cluster.call("auth/user/add", ["name": "node", "password": "secret"])
        try await cluster.call("auth/role/add", ["name": "fleet"])
        try await cluster.call(
            "auth/role/grant",
            [
                "name": "fleet",
                "perm": ["permType": "READWRITE", "key": base64("fleet/"), "range_end": base64("fleet0")],
            ])
        try await cluster.call("auth/user/grant", ["user": "node", "role": "fleet"])
        try await cluster.call("auth/enable", [:])
    }

    @Test("a cluster without users refuses credentials and says so")
    func needlessCredentials() async throws {
        let cluster = try await EtcdCluster()
        try await cluster.isReady(for: EtcdFleetStore(cluster.addresses))
        let store = EtcdFleetStore(cluster.addresses, credentials: .user("node", password: "secret"))
        #expect(await storeProblem { try await store.read("a") } == .refused)
    }

    @Test(
        "certificates of an authority of one's own are trusted when it is named",
        .enabled(if: ServerProgram.openssl.isInstalled, "openssl is not installed"))
    func certificates() async throws {
        let scratch = try Scratch()
        let (file, key) = (scratch.path("c.pem"), scratch.path("k.pem"))
        let process = try OwnedProcess(
            .openssl,
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
                "-out", file, "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
            ])
        for _ in 0..<300 where (try? String(contentsOfFile: file, encoding: .utf8))?.contains("END") != true {
            try await Task.sleep(for: .milliseconds(50))
        }
        _ = process
        let cluster = try await EtcdCluster(options: ["--cert-file", file, "--key-file", key], scheme: "https")
        let store = EtcdFleetStore(cluster.addresses, certificateAuthorities: file)
        try await cluster.isReady(for: store)
        let revision = try await written([1], to: "a", in: store)
        #expect(try await store.read("a")?.revision == revision)
        let strict = EtcdFleetStore(cluster.addresses)
        #expect(await storeProblem { try await strict.read("a") } == .unreachable)
    }

    @Test("F6, F13: nodes that share a session in etcd refresh it once, and learn of the new token by themselves")
    func sessions() async throws {
        let cluster = try await EtcdCluster()
        let store = EtcdFleetStore(cluster.addresses, timeout: .seconds(20))
        try await cluster.isReady(for: store)
        let scene = try SessionScene(store)
        try await scene.expectOneRefresh { EtcdFleetStore(cluster.addresses, timeout: .seconds(20)) }
    }

    @Test("an old version is warned of, and a member that does not answer")
    func warnings() async throws {
        let cluster = try await EtcdCluster()
        let gone = "http://127.0.0.1:1"
        let store = EtcdFleetStore(cluster.addresses + [gone])
        try await cluster.isReady(for: store)
        let status = try await cluster.call("maintenance/status", [:])
        let version = try #require(status["version"] as? String)
        let numbers = version.split(separator: ".").map { Int($0) ?? 0 }
        let isOld =
            numbers.lexicographicallyPrecedes([3, 4, 31])
            || numbers.starts(with: [3, 5]) && numbers.lexicographicallyPrecedes([3, 5, 13])
        let warnings = await store.warnings()
        #expect(warnings.contains { $0.hasPrefix(gone) })
        #expect(warnings.contains { $0.contains(version) } == isOld)
    }
}
#endif
