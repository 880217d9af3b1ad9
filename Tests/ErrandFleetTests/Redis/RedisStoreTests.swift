#if os(Linux)
import Errand
@testable import ErrandFleet
import ErrandSimulation
import ErrandTestSupport
import Foundation
import Testing

@Suite(
    "The store in Redis", .enabled(if: ServerProgram.redis.isInstalled, "redis-server is not installed"),
    .timeLimit(.minutes(10)))
struct RedisStoreTests {
    /// The rules of the store's documentation, without the password.
    static let rules =
        "on resetchannels ~errand/* ~errand:revisions &errand:0:* -@all +hello +select +hmget +eval +get +set +hset "
        + "+del +time +publish +subscribe +unsubscribe +info +config|get"

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

    @Test("F12: a Redis that saves every write keeps the promises of stores")
    func conformance() async throws {
        let server = try await RedisServer(RedisServer.durable + ["--requirepass", "secret"])
        await check {
            RedisFleetStore(server.address, credentials: .password("secret"), timeout: .seconds(20))
        }
    }

    @Test("F12: a user with the documented permissions can do all that the store needs, in one database of several")
    func documentedPermissions() async throws {
        let server = try await RedisServer()
        try await server.setUser("node", Self.rules + " ~conformance/* >secret &errand:3:*")
        await check {
            RedisFleetStore(
                "\(server.address)/3", credentials: .user("node", password: "secret"), timeout: .seconds(20))
        }
    }

    @Test(
        "F12: over TLS, with an authority of one's own, the promises are kept; another authority is refused",
        .enabled(if: ServerProgram.openssl.isInstalled, "openssl is not installed"))
    func encrypted() async throws {
        let scratch = try Scratch()
        let (own, other) = (try await certificate("own", in: scratch), try await certificate("other", in: scratch))
        let port = try ServerProgram.freePorts(1)[0]
        let server = try await RedisServer(
            RedisServer.durable + [
                "--tls-port", "\(port)", "--tls-cert-file", own.file, "--tls-key-file", own.key,
                "--tls-ca-cert-file", own.file, "--tls-auth-clients", "no", "--requirepass", "secret",
            ], password: "secret")
        let address = "rediss://127.0.0.1:\(port)"
        let credentials = RedisCredentials.password("secret")
        await check {
            RedisFleetStore(
                address, certificateAuthorities: own.file, credentials: credentials, timeout: .seconds(20))
        }
        for store in [
            RedisFleetStore(address, certificateAuthorities: other.file, credentials: credentials),
            RedisFleetStore(address, credentials: credentials),
            RedisFleetStore("rediss://127.0.0.1:\(server.port)", certificateAuthorities: own.file),
            RedisFleetStore(address, certificateAuthorities: scratch.path("none.pem"), credentials: credentials),
        ] { #expect(await storeProblem { try await store.read("a") } == .unreachable) }
        // The largest records, in both directions at once, and a watch of them.
        let store = RedisFleetStore(
            address, certificateAuthorities: own.file, credentials: credentials, timeout: .seconds(60))
        try await withThrowingTaskGroup { group in
            for number in 0..<8 {
                group.addTask {
                    let bytes = [UInt8](repeating: UInt8(number), count: FleetRecordRules.largestRecord)
                    var revision: FleetRevision?
                    for _ in 0..<3 {
                        revision = try await written(bytes, to: "large/\(number)", replacing: revision, in: store)
                        #expect(try await store.read("large/\(number)")?.bytes == bytes)
                    }
                    var watch = store.changes(of: "large/\(number)").makeAsyncIterator()
                    #expect(try await watch.next()??.revision == revision)
                }
            }
            try await group.waitForAll()
        }
        await server.kill()
        #expect(await storeProblem { try await store.read("a") } == .unreachable)
        #expect(
            await storeProblem { try await RedisFleetStore(server.address, certificateAuthorities: "x").read("a") }
                == .invalid)
    }

    /// Creates a certificate for this machine, which is its own authority.
    private func certificate(_ name: String, in scratch: Scratch) async throws -> (file: String, key: String) {
        let (file, key) = (scratch.path("\(name).pem"), scratch.path("\(name).key"))
        let process = try OwnedProcess(
            .openssl,
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
                "-out", file, "-days", "2", "-subj", "/CN=\(name)", "-addext", "subjectAltName=IP:127.0.0.1",
            ])
        for _ in 0..<600 where (try? String(contentsOfFile: file, encoding: .utf8))?.contains("END") != true {
            try await Task.sleep(for: .milliseconds(50))
        }
        withExtendedLifetime(process) {}
        return (file, key)
    }
}
#endif
