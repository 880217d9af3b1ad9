#if os(Linux)
import Errand
import ErrandFleet
import ErrandSimulation
import ErrandTestSupport
import Foundation

/// The programs of other servers; tests that need one that is not installed are skipped.
enum ServerProgram: String {
    case etcd, openssl
    case redis = "redis-server"

    /// The path; `nil` if it is not installed.
    var path: String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return (folders + ["/usr/sbin", "/usr/local/sbin"]).map { "\($0)/\(rawValue)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    var isInstalled: Bool { path != nil }

    /// Returns ports that are free now.
    static func freePorts(_ count: Int) throws -> [Int] {
        let probes = try (0..<count).map { _ in try LoopbackServer() }
        defer { for probe in probes { probe.close() } }
        return probes.map(\.port)
    }
}

/// A process of a server, which ends with its owner.
final class OwnedProcess: Sendable {
    private let process: Subprocess

    init(_ program: ServerProgram, _ arguments: [String]) throws {
        guard let path = program.path else { throw NotReady(what: program.rawValue) }
        process = try Subprocess(path, arguments, errors: .withOutput)
        try process.input.close()
        // A pipe that nobody reads would stop the server at some time.
        Thread.detachNewThread { [process] in while process.output.availableData.isEmpty == false {} }
    }

    /// Suspends the process, and waits until all of its threads have stopped.
    func suspend() async throws {
        process.suspend()
        _ = try await Subprocess.waiting { [process] in process.waitUntilSuspended() }
    }

    func resume() { process.resume() }

    /// Kills the process, and waits for its end.
    func kill() async {
        process.stop()
        _ = try? await Subprocess.waiting { [process] in process.end() }
    }

    deinit {
        process.stop()
        Thread.detachNewThread { [process] in _ = process.end() }
    }
}

/// The members of an etcd cluster on this machine, each with a folder of its own. They end with this object.
final class EtcdCluster: Sendable {
    /// The ports and folders with which the members of a cluster start.
    private struct Plan {
        let addresses: [String]
        let arguments: [[String]]
        let logs: [String]

        /// Creates a plan with ports that are free now.
        init(_ count: Int, _ options: [String], scheme: String, in folder: String) throws {
            let ports = try ServerProgram.freePorts(2 * count)
            let addresses = (0..<count).map { "\(scheme)://127.0.0.1:\(ports[2 * $0])" }
            let peers = (0..<count).map { "http://127.0.0.1:\(ports[2 * $0 + 1])" }
            let cluster = peers.enumerated().map { "m\($0)=\($1)" }.joined(separator: ",")
            let logs = (0..<count).map { "\(folder)-\($0).log" }
            arguments = (0..<count).map { index in
                [
                    "--name", "m\(index)", "--data-dir", "\(folder)-\(index)",
                    "--listen-client-urls", addresses[index], "--advertise-client-urls", addresses[index],
                    "--listen-peer-urls", peers[index], "--initial-advertise-peer-urls", peers[index],
                    "--initial-cluster", cluster, "--initial-cluster-token", folder,
                    "--logger", "zap", "--log-outputs", logs[index],
                ] + options
            }
            (self.addresses, self.logs) = (addresses, logs)
        }

        func log(_ index: Int) -> String { (try? String(contentsOfFile: logs[index], encoding: .utf8)) ?? "" }

        /// Waits until the members listen. Returns whether another process has taken a port before one did.
        func hasLostPort() async throws -> Bool {
            for index in logs.indices {
                for _ in 0..<1200 {
                    let text = log(index)
                    if text.contains("address already in use") { return true }
                    if text.contains("now serving peer") { break }
                    try await Task.sleep(for: .milliseconds(100))
                }
            }
            return false
        }
    }

    private let plan: Plan
    private let scratch: Scratch
    private let processes: Lock<[OwnedProcess?]>

    /// The URLs of the members' client ports.
    var addresses: [String] { plan.addresses }

    /// Starts a cluster.
    init(_ count: Int = 1, options: [String] = [], scheme: String = "http") async throws {
        let scratch = try Scratch()
        let (plan, processes) = try await Self.started(count, options, scheme: scheme, in: scratch)
        self.plan = plan
        self.scratch = scratch
        self.processes = Lock(processes)
    }

    /// Starts the members, again with other ports if tests that run beside this one have taken some.
    private static func started(
        _ count: Int, _ options: [String], scheme: String, in scratch: Scratch
    ) async throws -> (Plan, [OwnedProcess?]) {
        for attempt in 0..<5 {
            let plan = try Plan(count, options, scheme: scheme, in: scratch.path("m\(attempt)"))
            let processes = try plan.arguments.map { try OwnedProcess(.etcd, $0) }
            guard try await plan.hasLostPort() else { return (plan, processes) }
            for process in processes { await process.kill() }
        }
        throw NotReady(what: "free ports for etcd")
    }

    /// Starts a member, with what it has saved.
    func start(_ index: Int) throws {
        let process = try OwnedProcess(.etcd, plan.arguments[index])
        processes.withLock { $0[index] = process }
    }

    /// Kills a member.
    func kill(_ index: Int) async {
        let process = processes.withLock { processes in
            defer { processes[index] = nil }
            return processes[index]
        }
        await process?.kill()
    }

    func suspend(_ index: Int) async throws { try await processes.withLock { $0[index] }?.suspend() }
    func resume(_ index: Int) { processes.withLock { $0[index] }?.resume() }

    /// Waits until a store can read.
    func isReady(for store: EtcdFleetStore) async throws {
        for _ in 0..<1200 {
            if await storeProblem({ try await store.read("ready") }) == nil { return }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw NotReady(what: "etcd at \(addresses): \((0..<addresses.count).map(log).joined())")
    }

    private func log(_ index: Int) -> String { String(plan.log(index).suffix(1000)) }

    /// Calls a member as an administrator. Returns the members of its answer.
    @discardableResult
    func call(
        _ path: String, _ body: JSONObject, at index: Int = 0, token: String? = nil
    ) async throws -> [String: Any] {
        let client = APIClient(addresses[index]) {
            $0.rateLimit = .unlimited
            $0.timeout = .seconds(20)
        }
        let path = EndpointPath(segments: ["v3"] + path.split(separator: "/").map(String.init))
        let endpoint = Endpoint<Data>(.post, path, body: .json(body)).header("Authorization", token)
        let answer = try await client.run(endpoint)
        return try JSONSerialization.jsonObject(with: answer) as? [String: Any] ?? [:]
    }

    /// The index of the leader.
    var leader: Int {
        get async throws {
            for index in addresses.indices {
                let status = try await call("maintenance/status", [:], at: index)
                let header = status["header"] as? [String: Any]
                if let leader = status["leader"] as? String, leader == header?["member_id"] as? String { return index }
            }
            throw NotReady(what: "a leader")
        }
    }
}
#endif
