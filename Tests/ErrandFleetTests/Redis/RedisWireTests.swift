#if os(Linux)
import Errand
@testable import ErrandFleet
import ErrandTestSupport
import Foundation
import Testing

@Suite("The connection of a store in Redis", .timeLimit(.minutes(5))) struct RedisWireTests {
    /// No record, as the answer to a read.
    private static let none = "*2\r\n_\r\n_\r\n"

    private static func record(_ revision: Int, _ text: String) -> String {
        "*2\r\n$\("\(revision)".utf8.count)\r\n\(revision)\r\n$\(text.utf8.count)\r\n\(text)\r\n"
    }

    private static func message(_ key: String, _ text: String) -> String {
        let channel = "errand:0:\(key)"
        return ">3\r\n$7\r\nmessage\r\n$\(channel.utf8.count)\r\n\(channel)\r\n$\(text.utf8.count)\r\n\(text)\r\n"
    }

    private static func confirmation(_ command: ScriptedRedis.Command) -> String {
        let (kind, channel) = (command.name.lowercased(), command.words[1])
        return ">3\r\n$\(kind.utf8.count)\r\n\(kind)\r\n$\(channel.utf8.count)\r\n\(channel)\r\n:1\r\n"
    }

    private func wait(for what: String, until condition: () -> Bool) async throws {
        for _ in 0..<6000 {
            if condition() { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw NotReady(what: what)
    }

    @Test("a write whose connection is closed fails and is not repeated; a read is repeated once")
    func lostAnswers() async throws {
        let server = try ScriptedRedis.greeted { _ in .close }
        let store = RedisFleetStore(server.address)
        #expect(await storeProblem { try await store.write([1], to: "a", replacing: nil) } == .unreachable)
        #expect(server.count(of: "EVAL") == 1)
        #expect(await storeProblem { try await store.read("a") } == .unreachable)
        #expect(server.count(of: "HMGET") == 2)
        #expect(server.opened.value == 3)
    }

    @Test("a read that has lost its connection succeeds on the next one")
    func repeatedRead() async throws {
        let server = try ScriptedRedis.greeted {
            $0.connection == 1 ? .close : .answer(Self.record(7, "x"))
        }
        let record = try await RedisFleetStore(server.address).read("a")
        #expect(record == FleetRecord(bytes: Array("x".utf8), revision: FleetRevision(7)))
    }

    @Test(
        "a server that never answers is given up after the timeout, with its address, and the next request tries again")
    func silence() async throws {
        let server = try ScriptedRedis.greeted { $0.connection == 1 ? .silence : .answer(Self.none) }
        let store = RedisFleetStore(server.address, timeout: .milliseconds(300))
        let start = ContinuousClock.now
        let error = await #expect(throws: FleetStoreError.self) {
            try await store.write([1], to: "a", replacing: nil)
        }
        #expect(start.duration(to: .now) >= .milliseconds(300))
        #expect(error?.kind == .unreachable)
        #expect(error?.message == "Redis at 127.0.0.1:\(server.port) has not answered in 300 ms")
        try await wait(for: "the end of the connection") { server.closed.value == 1 }
        let patient = RedisFleetStore(server.address, timeout: .seconds(20))
        #expect(try await patient.read("a") == nil)
        #expect(server.count(of: "EVAL") == 1)
    }

    @Test("a server that takes the connection and says nothing is given up")
    func silentGreeting() async throws {
        let server = try ScriptedRedis { _ in .silence }
        let store = RedisFleetStore(server.address, timeout: .milliseconds(300))
        #expect(await storeProblem { try await store.read("a") } == .unreachable)
        #expect(await storeProblem { try await store.changes(of: "a").first { _ in true } } == .unreachable)
        let encrypted = RedisFleetStore("rediss://127.0.0.1:\(server.port)", timeout: .milliseconds(300))
        #expect(await storeProblem { try await encrypted.read("a") } == .unreachable)
    }

    @Test("answers may come one byte at a time")
    func bytes() async throws {
        let server = try ScriptedRedis {
            .pieces($0.name == "HELLO" ? ScriptedRedis.greeting : Self.record(5, "\r\n+x\r\n"))
        }
        let record = try await RedisFleetStore(server.address, timeout: .seconds(20)).read("a")
        #expect(record == FleetRecord(bytes: Array("\r\n+x\r\n".utf8), revision: FleetRevision(5)))
    }

    @Test(
        "wrong bytes are damage, and end the connection",
        arguments: [
            "HTTP/1.1 400 Bad Request\r\n", "+OK\r\n", "*2\r\n:1\r\n:2\r\n", "*1\r\n_\r\n", "*2\r\n+a\r\n$1\r\nx\r\n",
            "*2\r\n+5\r\n_\r\n", "$99999999999\r\n", ">1\r\n+subscribe\r\n", ">3\r\n+subscribe\r\n+x\r\n:1\r\n",
        ])
    func damage(_ answer: String) async throws {
        let server = try ScriptedRedis.greeted { _ in .answer(answer) }
        let store = RedisFleetStore(server.address)
        #expect(await storeProblem { try await store.read("a") } == .damaged)
        #expect(await storeProblem { try await store.write([1], to: "a", replacing: nil) } == .damaged)
    }

    @Test("a greeting that is none is damage", arguments: ["+OK\r\n", "%1\r\n+proto\r\n:2\r\n", "SSH-2.0-x\r\n"])
    func wrongGreeting(_ answer: String) async throws {
        let server = try ScriptedRedis { _ in .answer(answer) }
        #expect(await storeProblem { try await RedisFleetStore(server.address).read("a") } == .damaged)
    }

    @Test("an old server, and one with too many clients, are refused with their words")
    func refusedGreeting() async throws {
        let old = try ScriptedRedis { _ in .answer("-ERR unknown command `HELLO`, with args beginning with: `3`\r\n") }
        let error = await #expect(throws: FleetStoreError.self) { try await RedisFleetStore(old.address).read("a") }
        #expect(error?.message.contains("older than Redis 6") == true)
        let full = try ScriptedRedis { _ in .answer("-ERR max number of clients reached\r\n") }
        #expect(await storeProblem { try await RedisFleetStore(full.address).read("a") } == .unreachable)
    }

    @Test("a watch leaves out what comes before its record, keeps the order, and ends when revisions go back")
    func messages() async throws {
        let server = try ScriptedRedis.greeted { command in
            switch command.name {
            case "HMGET": .answer(Self.message("a", "4=old") + Self.record(5, "now"))
            default: .answer(Self.confirmation(command))
            }
        }
        let store = RedisFleetStore(server.address)
        var watch = store.changes(of: "a").makeAsyncIterator()
        #expect(try await watch.next()??.bytes == Array("now".utf8))
        server.send(">2\r\n+invalidate\r\n_\r\n" + Self.message("b", "6=other") + Self.message("a", "7=new"))
        #expect(try await watch.next()??.revision == FleetRevision(7))
        server.send(Self.message("a", "7=new") + Self.message("a", "8-"))
        #expect(try await watch.next() == .some(.none))
        server.send(Self.message("a", "3=back"))
        #expect(await endProblem(of: &watch) == .other)
        var damaged = store.changes(of: "a").makeAsyncIterator()
        #expect(try await damaged.next()??.bytes == Array("now".utf8))
        server.send(Self.message("a", "x"))
        #expect(await endProblem(of: &damaged) == .damaged)
        #expect(server.opened.value == 1)
    }

    @Test("watches of one key share a subscription, each begins with the record, and the last one ends it")
    func sharedSubscription() async throws {
        let server = try ScriptedRedis.greeted { command in
            command.name == "HMGET" ? .answer(Self.record(5, "now")) : .answer(Self.confirmation(command))
        }
        let store = RedisFleetStore(server.address)
        let tasks = (0..<3).map { _ in
            let begun = Noted(0)
            return (begun, Task { for try await _ in store.changes(of: "a") { begun.update { $0 += 1 } } })
        }
        try await wait(for: "three watches") { tasks.allSatisfy { $0.0.value == 1 } }
        server.send(Self.message("a", "6=new"))
        try await wait(for: "a change of each") { tasks.allSatisfy { $0.0.value == 2 } }
        for (_, task) in tasks.dropLast() { task.cancel() }
        for (_, task) in tasks.dropLast() { _ = await task.result }
        server.send(Self.message("a", "7=new"))
        try await wait(for: "a change of the last") { tasks[2].0.value == 3 }
        #expect(server.count(of: "SUBSCRIBE") == 1)
        #expect(server.count(of: "HMGET") == 3)
        #expect(server.count(of: "UNSUBSCRIBE") == 0)
        tasks[2].1.cancel()
        try await wait(for: "the end of the subscription") { server.count(of: "UNSUBSCRIBE") == 1 }
        var again = store.changes(of: "a").makeAsyncIterator()
        #expect(try await again.next()??.revision == FleetRevision(5))
        #expect(server.count(of: "SUBSCRIBE") == 2)
    }

    @Test("a subscription that is refused ends its watch, and no other request")
    func refusedSubscription() async throws {
        let server = try ScriptedRedis.greeted { command in
            command.name == "SUBSCRIBE" ? .answer("-NOPERM no permission\r\n") : .answer(Self.none)
        }
        let store = RedisFleetStore(server.address)
        #expect(await storeProblem { try await store.changes(of: "a").first { _ in true } } == .refused)
        #expect(try await store.read("a") == nil)
        #expect(server.opened.value == 1)
    }

    @Test("a silent connection with a watch is checked, and a dead one ends the watch")
    func check() async throws {
        let server = try ScriptedRedis { command in
            switch command.name {
            case "HELLO": command.index == 0 ? .answer(ScriptedRedis.greeting) : .silence
            case "HMGET": .answer(Self.none)
            default: .answer(Self.confirmation(command))
            }
        }
        let store = RedisFleetStore(
            server.address, timeout: .milliseconds(200), idleTime: .seconds(30), checkInterval: .milliseconds(100))
        var watch = store.changes(of: "a").makeAsyncIterator()
        #expect(try await watch.next() == .some(.none))
        #expect(await endProblem(of: &watch) == .unreachable)
    }

    @Test("a server that has become a replica is left at the next check")
    func demotion() async throws {
        let server = try ScriptedRedis { command in
            switch command.name {
            case "HELLO":
                command.index == 0
                    ? .answer(ScriptedRedis.greeting)
                    : .answer(ScriptedRedis.greeting.replacing("$6\r\nmaster", with: "$7\r\nreplica"))
            case "HMGET": .answer(Self.none)
            default: .answer(Self.confirmation(command))
            }
        }
        let store = RedisFleetStore(
            server.address, idleTime: .seconds(30), checkInterval: .milliseconds(100))
        var watch = store.changes(of: "a").makeAsyncIterator()
        #expect(try await watch.next() == .some(.none))
        #expect(await endProblem(of: &watch) == .refused)
    }

    @Test("a canceled request ends at once, and its answer goes to nobody")
    func cancellation() async throws {
        let server = try ScriptedRedis.greeted { command in
            command.words[1] == "slow" ? .silence : .answer(Self.record(1, "slow") + Self.record(2, "b"))
        }
        let store = RedisFleetStore(server.address, timeout: .seconds(60))
        let slow = Task { try await store.read("slow") }
        try await wait(for: "the request") { server.count(of: "HMGET") == 1 }
        slow.cancel()
        #expect(await storeProblem { try await slow.value } == .cancelled)
        #expect(try await store.read("b")?.bytes == Array("b".utf8))
    }

    @Test("a connection that nothing needs is closed, and the thread ends; the next request opens another")
    func idle() async throws {
        let server = try ScriptedRedis.greeted { _ in .answer(Self.none) }
        let store = RedisFleetStore(server.address, idleTime: .milliseconds(100))
        #expect(!store.isConnected)
        _ = try await store.read("a")
        try await wait(for: "the end of the connection") { server.closed.value == 1 && !store.isConnected }
        _ = try await store.read("a")
        #expect(server.opened.value == 2)
    }

    @Test("a store that is released closes its connection and ends its thread; thousands of them leave nothing open")
    func release() async throws {
        let server = try ScriptedRedis.greeted { _ in .answer(Self.none) }
        func descriptors() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
        let before = try descriptors()
        for _ in 0..<1500 {
            let store = RedisFleetStore(server.address, timeout: .seconds(60))
            #expect(try await store.read("a") == nil)
        }
        try await wait(for: "the end of the connections") { server.closed.value == 1500 }
        // Each would have left three. The server has one of each, and other tests have some, too.
        #expect(try descriptors() < before + 2 * 1500)
    }

    @Test("a watch keeps the connection after its store is released")
    func releasedStore() async throws {
        let server = try ScriptedRedis.greeted { command in
            command.name == "HMGET" ? .answer(Self.none) : .answer(Self.confirmation(command))
        }
        var watch = RedisFleetStore(server.address).changes(of: "a").makeAsyncIterator()
        #expect(try await watch.next() == .some(.none))
        server.send(Self.message("a", "1=x"))
        #expect(try await watch.next()??.revision == FleetRevision(1))
    }

    @Test("watches that fail one after the other wait for longer each time; a request does not wait")
    func pauses() async throws {
        let server = try ScriptedRedis { _ in .close }
        let store = RedisFleetStore(server.address, timeout: .seconds(60))
        let start = ContinuousClock.now
        for _ in 0..<6 {
            #expect(await storeProblem { try await store.changes(of: "a").first { _ in true } } == .unreachable)
        }
        // At least half of 100, 200, 400, 800 and 1600 ms.
        #expect(start.duration(to: .now) >= .milliseconds(1550))
        let next = Task { try await store.changes(of: "a").first { _ in true } }
        #expect(await storeProblem { try await store.read("a") } == .unreachable)
        #expect(await storeProblem { try await next.value } == .unreachable)
    }

    @Test("nothing listens: requests and watches fail at once, and say why")
    func nothingListens() async throws {
        let port = try ServerProgram.freePorts(1)[0]
        let store = RedisFleetStore("redis://localhost:\(port)", timeout: .seconds(60))
        let error = await #expect(throws: FleetStoreError.self) { try await store.read("a") }
        #expect(error?.kind == .unreachable)
        #expect(error?.message.contains("localhost:\(port)") == true)
        for _ in 0..<3 {
            #expect(await storeProblem { try await store.changes(of: "a").first { _ in true } } == .unreachable)
        }
    }
}
#endif
