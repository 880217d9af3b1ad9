#if os(Linux)
import Errand
@testable import ErrandFleet
import ErrandTestSupport
import Foundation

/// A Redis server on this machine, which ends with this object.
final class RedisServer: Sendable {
    /// What a fleet's server should be set to.
    static let durable = ["--appendonly", "yes", "--appendfsync", "always"]

    let port: Int
    private let arguments: [String]
    private let scratch: Scratch
    private let process: Lock<OwnedProcess?>
    private let password: String?

    /// The address of the server.
    var address: String { "redis://127.0.0.1:\(port)" }

    /// Starts a server, again with another port if tests that run beside this one have taken it.
    ///
    /// - Parameter password: What the administrator's calls need.
    init(_ options: [String] = durable, password: String? = nil, isSentinel: Bool = false) async throws {
        let scratch = try Scratch()
        // A Sentinel writes what it learns into the file of its configuration.
        if isSentinel { try scratch.write("", to: "sentinel.conf") }
        let kind = isSentinel ? [scratch.path("sentinel.conf"), "--sentinel"] : ["--save", ""]
        for attempt in 0..<5 {
            let port = try ServerProgram.freePorts(1)[0]
            let log = scratch.path("log-\(attempt)")
            let place = ["--port", "\(port)", "--bind", "127.0.0.1", "--dir", scratch.folder, "--logfile", log]
            let arguments = kind + place + options
            let process = try OwnedProcess(.redis, arguments)
            guard try await Self.listens(log) else {
                await process.kill()
                continue
            }
            (self.port, self.arguments, self.scratch, self.password) = (port, arguments, scratch, password)
            self.process = Lock(process)
            return
        }
        throw NotReady(what: "a free port for Redis")
    }

    /// Waits until the server listens. Returns `false` if another process has taken its port.
    private static func listens(_ log: String) async throws -> Bool {
        for _ in 0..<1200 {
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            if text.contains("Address already in use") { return false }
            if text.contains("Ready to accept connections") || text.contains("Sentinel ID is") { return true }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw NotReady(what: "Redis: \((try? String(contentsOfFile: log, encoding: .utf8)) ?? "")")
    }

    /// Starts the server again, with what it has saved, and waits until it answers.
    func start() async throws {
        let process = try OwnedProcess(.redis, arguments)
        self.process.withLock { $0 = process }
        for _ in 0..<1200 {
            if (try? await call("PING")) != nil { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw NotReady(what: "Redis, again")
    }

    /// Kills the server.
    func kill() async {
        let process = process.withLock { process in
            defer { process = nil }
            return process
        }
        await process?.kill()
    }

    func suspend() async throws { try await process.withLock { $0 }?.suspend() }
    func resume() { process.withLock { $0 }?.resume() }

    /// Sends a command as the administrator.
    @discardableResult
    func call(_ words: String...) async throws -> RedisValue {
        let client = RedisClient(
            RedisLoop.Settings(
                address: try RedisAddress(address), credentials: password.map { .password($0) }, timeout: .seconds(20)))
        return try await client.answer(to: RedisCommand(words.map { Array($0.utf8) }), isRepeatable: false)
    }

    /// Sets what a user may do.
    func setUser(_ name: String, _ rules: String) async throws {
        let words = ["ACL", "SETUSER", name] + rules.split(separator: " ").map(String.init)
        let client = RedisClient(
            RedisLoop.Settings(address: try RedisAddress(address), credentials: password.map { .password($0) }))
        _ = try await client.answer(to: RedisCommand(words.map { Array($0.utf8) }), isRepeatable: false)
    }
}
#endif
