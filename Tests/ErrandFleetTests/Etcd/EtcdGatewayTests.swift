import Errand
import ErrandFleet
import ErrandSimulation
import ErrandTestSupport
import Foundation
import Testing

/// What the store does with answers that a real cluster gives seldom.
@Suite("The gateway of etcd", .timeLimit(.minutes(10))) struct EtcdGatewayTests {
    private static let header = #""header":{"revision":"7"}"#
    private static let empty = LoopbackReply.json("{\(header)}").always

    private func range(_ text: String, revision: Int, header: Int? = nil) -> LoopbackReply {
        let value = Data(text.utf8).base64EncodedString()
        return .json(
            #"{"header":{"revision":"\#(header ?? revision)"},"#
                + #""kvs":[{"key":"YQ==","mod_revision":"\#(revision)","value":"\#(value)"}]}"#)
    }

    private func lines(_ lines: String..., last: LoopbackReply.Step = .silence) -> LoopbackReply {
        let text = lines.map { "\($0)\n" }.joined()
        return LoopbackReply([
            .readBody, .write(LoopbackReply.head(200, ["Content-Type": "application/json", "Connection": "close"])),
            .write(Data(text.utf8)), last,
        ])
    }

    private func text(_ record: FleetRecord??) -> String? {
        (record ?? nil).map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    @Test(
        "a write whose answer is lost is sent to one member, once",
        arguments: [
            LoopbackReply([.readBody, .close]), LoopbackReply([.readBody, .reset]),
            .json(
                #"{"error":"etcdserver: leader changed","message":"etcdserver: leader changed","code":14}"#, status: 503
            ),
            .json(#"{"message":"etcdserver: request timed out","code":14}"#, status: 503), .status(502), .status(504),
        ])
    func lostAnswer(reply: LoopbackReply) async throws {
        let (first, second) = (try LoopbackServer(), try LoopbackServer())
        first.onAny(reply.always)
        second.onAny(Self.empty)
        let store = EtcdFleetStore([first.baseURL, second.baseURL], beginningAt: 0, timeout: .seconds(60))
        #expect(await storeProblem { try await store.write([1], to: "a", replacing: nil) } == .unreachable)
        #expect(first.received.count == 1)
        #expect(second.received.isEmpty)
        // The next call finds the other member.
        #expect(try await store.read("a") == nil)
        #expect(first.received.count == 1)
    }

    @Test("a read, and a write that has not been sent, go to the next member")
    func failover() async throws {
        let (failing, good) = (try LoopbackServer(), try LoopbackServer())
        failing.onAny(.status(503).always)
        good.on(.post, "/v3/kv/range", Self.empty)
        good.on(.post, "/v3/kv/txn", .json("{\(Self.header),\"succeeded\":true}"))
        let refusing = "http://127.0.0.1:1"
        let addresses = [refusing, failing.baseURL, good.baseURL]
        #expect(try await EtcdFleetStore(addresses, beginningAt: 0, timeout: .seconds(60)).read("a") == nil)
        let store = EtcdFleetStore([refusing, good.baseURL], beginningAt: 0, timeout: .seconds(60))
        #expect(try await store.write([1], to: "a", replacing: nil) == .written(FleetRevision(7)))
        #expect(good.received.count == 2)
    }

    @Test("no member answers, or there is none")
    func nobody() async throws {
        let silent = try LoopbackServer()
        silent.onAny(LoopbackReply.silence.always)
        let store = EtcdFleetStore([silent.baseURL], timeout: .milliseconds(200))
        #expect(await storeProblem { try await store.read("a") } == .unreachable)
        #expect(await storeProblem { try await store.write([1], to: "a", replacing: nil) } == .unreachable)
        #expect(await storeProblem { try await EtcdFleetStore([]).read("a") } == .invalid)
        let before = silent.received.count
        let task = Task {
            let store = EtcdFleetStore([silent.baseURL], timeout: .seconds(600))
            return await storeProblem { try await store.write([1], to: "a", replacing: nil) }
        }
        await silent.received(atLeast: before + 1)
        task.cancel()
        #expect(await task.value == .cancelled)
    }

    @Test(
        "an answer that is none of etcd's is damage", arguments: ["", "<html>", "[]", #"{"header":{"revision":"x"}}"#])
    func damaged(answer: String) async throws {
        let server = try LoopbackServer()
        server.onAny(LoopbackReply.json(answer).always)
        // A busy machine takes its time.
        let store = EtcdFleetStore([server.baseURL], timeout: .seconds(60))
        #expect(await storeProblem { try await store.read("a") } == .damaged)
        #expect(await storeProblem { try await store.write([1], to: "a", replacing: nil) } == .damaged)
    }

    @Test("a password does not travel unencrypted to another machine")
    func cleartext() async throws {
        let store = EtcdFleetStore(["http://10.1.2.3:2379"], credentials: .user("node", password: "secret"))
        #expect(await storeProblem { try await store.read("a") } == .invalid)
        #expect("\(EtcdCredentials.user("node", password: "secret"))" == "EtcdCredentials(node)")
        var dumped = ""
        dump(EtcdCredentials.user("node", password: "secret"), to: &dumped)
        #expect(!dumped.contains("secret"))
    }

    @Test("F5: a watch that was compacted reads the record again, and goes on from there")
    func compacted() async throws {
        let server = try LoopbackServer()
        server.on(.post, "/v3/kv/range", range("one", revision: 5), range("two", revision: 9))
        server.on(
            .post, "/v3/watch",
            lines(
                #"{"result":{"header":{},"created":true}}"#,
                #"{"result":{"header":{},"canceled":true,"compact_revision":"8"}}"#),
            lines(
                #"{"result":{"header":{},"created":true}}"#,
                #"{"result":{"header":{"revision":"10"},"events":[{"type":"DELETE","kv":{"mod_revision":"10"}}]}}"#))
        var watch = EtcdFleetStore([server.baseURL], timeout: .seconds(60)).changes(of: "a").makeAsyncIterator()
        #expect(text(try await watch.next()) == "one")
        #expect(text(try await watch.next()) == "two")
        #expect(try await watch.next() == .some(nil))
        let bodies = server.received.filter { $0.path == "/v3/watch" }.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(bodies.map { $0.contains(#""start_revision":"6""#) } == [true, false])
        #expect(bodies.last?.contains(#""start_revision":"10""#) == true)
    }

    @Test("F5: a watch that is dead looks idle; a read beside it finds the change", .timeLimit(.minutes(2)))
    func deadWatch() async throws {
        let server = try LoopbackServer()
        server.on(
            .post, "/v3/kv/range", range("one", revision: 5), range("two", revision: 9),
            range("two", revision: 9).always)
        server.on(.post, "/v3/watch", lines(#"{"result":{"header":{},"created":true}}"#).always)
        let store = EtcdFleetStore(
            [server.baseURL], credentials: nil, timeout: .seconds(10), transport: nil)
        let watch = RecordWatch(of: "a", in: store, time: .system, readingEvery: .milliseconds(500))
        let passed = Noted<[String?]>([])
        while passed.value.count < 2 {
            do throws(FleetStoreError) {
                try await watch.run { record in passed.update { $0.append(text(record)) } }
            } catch {
                #expect(error.message.contains("does not report"))
            }
        }
        #expect(passed.value == ["one", "two"])
    }

    @Test(
        "F5: a watch that a member does not begin, with the head of a response or without, is begun at another",
        arguments: [true, false])
    func silentMember(hasHead: Bool) async throws {
        let (silent, good) = (try LoopbackServer(), try LoopbackServer())
        silent.on(.post, "/v3/kv/range", range("one", revision: 5).always)
        // A second watch there would bring this.
        let again = lines(
            #"{"result":{"header":{},"created":true}}"#,
            #"{"result":{"events":[{"kv":{"mod_revision":"6","value":"YWdhaW4="}}]}}"#)
        silent.on(.post, "/v3/watch", hasHead ? lines() : LoopbackReply([.readBody, .silence]), again)
        good.on(.post, "/v3/kv/range", range("one", revision: 5).always)
        good.on(
            .post, "/v3/watch",
            lines(
                #"{"result":{"header":{},"created":true}}"#,
                #"{"result":{"events":[{"kv":{"mod_revision":"6","value":"dHdv"}}]}}"#))
        let store = EtcdFleetStore([silent.baseURL, good.baseURL], beginningAt: 0, timeout: .seconds(4))
        var watch = store.changes(of: "a").makeAsyncIterator()
        #expect(text(try await watch.next()) == "one")
        let next = text(try await watch.next())
        // On a busy machine, the other member may be too slow as well, and the first one is asked again.
        #expect(next == "two" || next == "again" && !good.received.isEmpty)
    }

    @Test(
        "F5: a watch leaves its member with the first request that the member does not answer, or cannot",
        arguments: [
            LoopbackReply([.readBody, .silence]), .json(#"{"message":"etcdserver: no leader","code":14}"#, status: 503),
        ])
    func lostMember(reply: LoopbackReply) async throws {
        let (lost, good) = (try LoopbackServer(), try LoopbackServer())
        lost.on(.post, "/v3/kv/range", range("one", revision: 5), reply.always)
        lost.on(.post, "/v3/watch", lines(#"{"result":{"header":{},"created":true}}"#).always)
        good.on(.post, "/v3/kv/range", range("two", revision: 9).always)
        good.on(.post, "/v3/watch", lines(#"{"result":{"header":{},"created":true}}"#).always)
        let store = EtcdFleetStore([lost.baseURL, good.baseURL], beginningAt: 0, timeout: .seconds(3))
        var watch = store.changes(of: "a").makeAsyncIterator()
        #expect(text(try await watch.next()) == "one")
        await lost.received(atLeast: 2)
        #expect(text(try await store.read("b")) == "two")
        #expect(text(try await watch.next()) == "two")
        // Two reads, and the watch.
        await good.received(atLeast: 3)
        #expect(good.received.contains { $0.path == "/v3/watch" })
    }

    @Test("F5: tokens that end with each change of a role do not lock the store's user out")
    func changedRoles() async throws {
        let server = try LoopbackServer()
        let old = LoopbackReply.json(
            #"{"error":"auth: revision in header is old","message":"etcdserver: auth store is old","code":3}"#,
            status: 400)
        let (good, reads, tokens) = (range("one", revision: 5), Noted(0), Noted(0))
        server.on(.post, "/v3/auth/authenticate") { _ in
            tokens.update { $0 += 1 }
            return .json(#"{"header":{},"token":"t\#(tokens.value)"}"#)
        }
        // Each token is good for one request.
        server.on(.post, "/v3/kv/range") { _ in
            reads.update { $0 += 1 }
            return reads.value.isMultiple(of: 2) ? old : good
        }
        let store = EtcdFleetStore(
            [server.baseURL], credentials: .user("node", password: "secret"), timeout: .seconds(60))
        for _ in 0..<12 { #expect(text(try await store.read("a")) == "one") }
        #expect(tokens.value == 12)
    }

    @Test("a store begins with any member, so that not all nodes ask the same one")
    func spread() async throws {
        let servers = try (0..<3).map { _ in try LoopbackServer() }
        for server in servers { server.onAny(range("one", revision: 5).always) }
        for _ in 0..<40 {
            _ = try await EtcdFleetStore(servers.map(\.baseURL), timeout: .seconds(60)).read("a")
        }
        // Each is left out with a probability of one in ten million.
        #expect(servers.allSatisfy { !$0.received.isEmpty })
    }

    @Test("revisions that go back end the watch")
    func goneBack() async throws {
        let server = try LoopbackServer()
        server.on(.post, "/v3/kv/range", range("new", revision: 9), range("old", revision: 5).always)
        server.on(.post, "/v3/watch", lines(#"{"result":{"created":true}}"#, last: .close).always)
        var watch = EtcdFleetStore([server.baseURL], timeout: .seconds(60)).changes(of: "a").makeAsyncIterator()
        #expect(text(try await watch.next()) == "new")
        #expect(await endProblem(of: &watch) == .other)
    }

    @Test("an idle node sends the cluster less than a request in two seconds for each watch")
    func load() async throws {
        let server = try LoopbackServer()
        server.on(.post, "/v3/kv/range", range("one", revision: 5).always)
        server.on(.post, "/v3/watch", lines(#"{"result":{"created":true}}"#).always)
        let store = EtcdFleetStore([server.baseURL], timeout: .seconds(30))
        var watch = store.changes(of: "a").makeAsyncIterator()
        #expect(text(try await watch.next()) == "one")
        await server.received(atLeast: 2)
        try await Task.sleep(for: .seconds(6))
        #expect(server.received.count == 2)
    }
}
