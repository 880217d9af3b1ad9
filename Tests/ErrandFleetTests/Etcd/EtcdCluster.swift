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

    func suspend() { process.suspend() }
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
    let addresses: [String]
    private let scratch: FleetScratch
    private let arguments: [[String]]
    private let processes: Lock<[OwnedProcess?]>

    /// Starts a cluster and waits until it answers.
    init(_ count: Int = 1, options: [String] = [], scheme: String = "http") async throws {
        scratch = try FleetScratch()
        let ports = try ServerProgram.freePorts(2 * count)
        addresses = (0..<count).map { "\(scheme)://127.0.0.1:\(ports[2 * $0])" }
        let peers = (0..<count).map { "http://127.0.0.1:\(ports[2 * $0 + 1])" }
        let cluster = peers.enumerated().map { "m\($0)=\($1)" }.joined(separator: ",")
        let (addresses, scratch) = (addresses, scratch)
        arguments = (0..<count).map { index in
            [
                "--name", "m\(index)", "--data-dir", scratch.path("m\(index)"),
                "--listen-client-urls", addresses[index], "--advertise-client-urls", addresses[index],
                "--listen-peer-urls", peers[index], "--initial-advertise-peer-urls", peers[index],
                "--initial-cluster", cluster, "--initial-cluster-token", scratch.folder,
                "--logger", "zap", "--log-outputs", scratch.path("m\(index).log"),
            ] + options
        }
        processes = Lock(Array(repeating: nil, count: count))
        for index in 0..<count { try start(index) }
    }

    /// Starts a member, with what it has saved.
    func start(_ index: Int) throws {
        let process = try OwnedProcess(.etcd, arguments[index])
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

    func suspend(_ index: Int) { processes.withLock { $0[index] }?.suspend() }
    func resume(_ index: Int) { processes.withLock { $0[index] }?.resume() }

    /// Waits until a store can read.
    func isReady(for store: EtcdFleetStore) async throws {
        for _ in 0..<600 {
            if await storeProblem({ try await store.read("ready") }) == nil { return }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw NotReady(what: "etcd at \(addresses): \((0..<addresses.count).map(log).joined())")
    }

    private func log(_ index: Int) -> String {
        let text = (try? String(contentsOfFile: scratch.path("m\(index).log"), encoding: .utf8)) ?? ""
        return String(text.suffix(1000))
    }

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
