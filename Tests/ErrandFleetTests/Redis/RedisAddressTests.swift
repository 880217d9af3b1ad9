@testable import ErrandFleet
import Testing

@Suite("The address of a Redis server") struct RedisAddressTests {
    @Test("an address has a host, a port and a database")
    func parts() throws {
        let plain = try RedisAddress("redis://redis.internal")
        #expect((plain.host, plain.port, plain.database) == ("redis.internal", 6379, 0))
        #expect(!plain.isEncrypted && plain.isExposed)
        let encrypted = try RedisAddress("rediss://10.0.0.5:6380/2")
        #expect((encrypted.host, encrypted.port, encrypted.database) == ("10.0.0.5", 6380, 2))
        #expect(encrypted.isEncrypted && !encrypted.isExposed)
        let six = try RedisAddress("redis://[::1]:80/")
        #expect((six.host, six.port, six.isExposed) == ("::1", 80, false))
        #expect("\(six)" == "Redis at [::1]:80")
        #expect(try RedisAddress("redis://[fd00::1]").port == 6379)
        #expect(try !RedisAddress("redis://localhost").isExposed)
    }

    @Test(
        "what is no address is refused with the reason",
        arguments: [
            ("", "redis://"), ("10.0.0.5:6379", "redis://"), ("http://10.0.0.5", "redis://"), ("redis://", "no host"),
            ("redis://:6379", "no host"), ("redis://a b", "no host"), ("redis://a:", "no port"),
            ("redis://a:0", "no port"), ("redis://a:65536", "no port"), ("redis://a:b", "no port"),
            ("redis://a:+1", "no port"), ("redis://a/b", "/2"), ("redis://a/1/2", "/2"), ("redis://a/-1", "/2"),
            ("redis://a?db=1", "more than"), ("redis://a/#1", "more than"), ("redis://[::1", "no host"),
        ])
    func wrong(_ address: String, reason: String) {
        let error = #expect(throws: FleetStoreError.self) { try RedisAddress(address) }
        #expect(error?.kind == .invalid)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    @Test("a password in an address is refused, and is not shown")
    func password() async {
        let store = RedisFleetStore("redis://billing:secret@10.0.0.5")
        let error = await #expect(throws: FleetStoreError.self) { try await store.read("a") }
        #expect(error?.kind == .invalid)
        #expect(error?.message.contains("credentials") == true)
        #expect(error?.message.contains("secret") == false)
        #expect(await storeProblem { try await store.write([1], to: "a", replacing: nil) } == .invalid)
        #expect(await storeProblem { try await store.changes(of: "a").first { _ in true } } == .invalid)
        #expect(await store.warnings().contains { $0.contains("credentials") })
        let credentials = RedisCredentials.user("billing", password: "secret")
        var shown = "\(credentials)"
        dump(credentials, to: &shown)
        #expect(!shown.contains("secret"))
    }

    @Test("a password goes to another machine over TLS only, unless that is allowed")
    func exposure() async {
        let credentials = RedisCredentials.password("secret")
        let exposed = RedisFleetStore("redis://192.0.2.1", credentials: credentials)
        let error = await #expect(throws: FleetStoreError.self) { try await exposed.read("a") }
        #expect(error?.kind == .invalid)
        #expect(error?.message.contains("rediss://") == true)
        let allowed = RedisFleetStore(
            "redis://redis.invalid", credentials: credentials, timeout: .milliseconds(500),
            sendsPasswordUnencrypted: true)
        #expect(await storeProblem { try await allowed.read("a") } == .unreachable)
    }

    @Test(
        "a server that cannot be used is refused with words that say what to give instead",
        arguments: [
            ("mode", "cluster", FleetStoreError.Kind.invalid, "Cluster"),
            ("mode", "sentinel", .invalid, "Sentinel"), ("role", "replica", .refused, "is a replica"),
        ])
    func greetings(_ key: String, _ value: String, _ kind: FleetStoreError.Kind, _ words: String) throws {
        func text(_ text: String) -> RedisValue { .text(Array(text.utf8)) }
        let address = try RedisAddress("redis://10.0.0.5")
        let facts: [RedisValue] = [text("proto"), .number(3), text("mode"), text("standalone"), text("role")]
        #expect(RedisGreeting.problem(.map(facts + [text("master")]), at: address, hiding: nil) == nil)
        let wrong = RedisValue.map([text(key), text(value)] + facts + [text("master")])
        let problem = try #require(RedisGreeting.problem(wrong, at: address, hiding: nil))
        #expect(problem.kind == kind)
        #expect(problem.message.contains(words))
    }

    @Test(
        "errors of a server are translated by their code, and quoted",
        arguments: [
            ("NOAUTH Authentication required.", FleetStoreError.Kind.refused), ("WRONGPASS invalid", .refused),
            ("NOPERM this user has no permissions", .refused), ("DENIED Redis is running in protected mode", .refused),
            ("READONLY You can't write against a read only replica.", .refused), ("OOM command not allowed", .full),
            ("MISCONF Redis is configured to save RDB snapshots", .full), ("WRONGTYPE Operation", .damaged),
            ("LOADING Redis is loading", .unreachable), ("BUSY Redis is busy", .unreachable),
            ("MASTERDOWN Link", .unreachable), ("CLUSTERDOWN Hash slot", .unreachable), ("TRYAGAIN", .unreachable),
            ("NOREPLICAS Not enough", .unreachable), ("MOVED 1 10.0.0.1:6379", .invalid), ("ASK 1 a:1", .invalid),
            ("ERR max number of clients reached", .unreachable), ("ERR something", .other), ("", .other),
            ("ERR Error running script (call to f_1): @user_script:1: WRONGTYPE Operation", .damaged),
            ("ERR Error running script (call to f_1): @user_script:1: -OOM command", .full),
            ("ERR The user executing the script can't access at least one of the keys", .refused),
        ])
    func refusals(_ text: String, _ kind: FleetStoreError.Kind) throws {
        let address = try RedisAddress("redis://10.0.0.5")
        let refusal = RedisRefusal(Array(text.utf8), from: address)
        #expect(refusal.error.kind == kind)
        #expect(refusal.error.message.contains("10.0.0.5:6379"))
        #expect(refusal.endsConnection == ["READONLY", "MOVED", "ASK"].contains(text.split(separator: " ").first))
    }

    @Test("a server's words are cut, without control characters and without the password")
    func words() throws {
        let address = try RedisAddress("redis://10.0.0.5")
        let long = RedisRefusal(Array("ERR \u{1B}[31m\(String(repeating: "x", count: 1000))".utf8), from: address)
        #expect(long.error.message.utf8.count < 300)
        #expect(!long.error.message.unicodeScalars.contains("\u{1B}"))
        let echo = Array("ERR unknown command 'X', with args beginning with: 'AUTH' 'a' 'secret'".utf8)
        #expect(!RedisRefusal(echo, from: address, hiding: "secret").error.message.contains("secret"))
        let old = RedisGreeting.problem(.error(Array("ERR unknown command `HELLO`".utf8)), at: address, hiding: nil)
        #expect(old?.message.contains("older than Redis 6") == true)
    }
}
