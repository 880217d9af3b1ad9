import ChildProcess
import Errand
import ErrandFleet
import ErrandSimulation
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// What a shared limit costs, over an etcd that the bench starts; nothing is measured where it is not installed.
enum FleetBench {
    private static let lifetime = 3000

    static func run(into report: inout Report) async throws {
        guard LocalEtcd.isInstalled else { return }
        let etcd = try await LocalEtcd()
        defer { etcd.end() }
        try measureSends(etcd, into: &report)
        try await measureRequests(etcd, into: &report)
        try await measureUse(etcd, into: &report)
        try await measureRefreshes(etcd, into: &report)
    }

    /// What three nodes ask of etcd while each of them uses its part of a limit up.
    private static func measureRequests(_ etcd: LocalEtcd, into report: inout Report) async throws {
        let (transport, length) = (CountingTransport(), 15)
        let nodes = (0..<3).map { index in
            let store = EtcdFleetStore([etcd.address], transport: transport)
            let fleet = Fleet(store: store, name: "steady", node: "\(index)")
            return (fleet: fleet, limiter: fleet.limiter("steady", .requests(60, per: .seconds(1))))
        }
        let work = Task {
            await withTaskGroup { group in
                for number in 0..<30 {
                    group.addTask { while (try? await nodes[number % 3].limiter.acquire()) != nil {} }
                }
            }
        }
        try await Task.sleep(for: .seconds(4))
        let before = transport.requests
        try await Task.sleep(for: .seconds(length))
        let requests = transport.requests - before
        work.cancel()
        await work.value
        for node in nodes { await node.fleet.leave() }
        report.add(
            "fleet.etcd_requests_per_second_per_node", .number(Double(requests) / Double(length) / 3),
            "requests to etcd while three nodes use a limit up, in a steady state")
    }

    /// A node, and the file with its stamps.
    private struct Node {
        let process: Child
        let file: String

        var uses: [(before: Int64, after: Int64)] {
            let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
            return text.split(separator: "\n").compactMap { line in
                let numbers = line.split(separator: " ").compactMap { Int64($0) }
                return numbers.count == 2 ? (numbers[0], numbers[1]) : nil
            }
        }
    }

    private static func start(
        _ store: String, permits: Int, tasks: String, seconds: Int, below folder: String
    ) throws -> Node {
        let file = "\(folder)/\(UUID())"
        return Node(
            process: try Child(
                Child.sibling("FleetNode"),
                [store, "\(permits)", "1000", "\(lifetime)", tasks, "\(seconds)", file]), file: file)
    }

    private static func folder() throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-bench-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return folder
    }

    /// Three processes that call at the same time under a limit that never binds: over a fleet, and each with a limiter
    /// of its own.
    private static func measureSends(_ etcd: LocalEtcd, into report: inout Report) throws {
        var rates: [Bool: [Double]] = [:]
        for _ in 0..<5 {
            for isShared in [true, false] {
                let time: any TimeSource = .system
                // As long as the slowest needs to start.
                let start = time.now.advanced(by: .seconds(1)).nanoseconds
                let processes = try (0..<3).map { _ in
                    try Child(Child.sibling("FleetNode"), ["speed", isShared ? etcd.address : "", "\(start)", "2"])
                }
                let found = processes.map { $0.line() }
                for process in processes { _ = try process.end() }
                rates[isShared, default: []].append(found.reduce(0) { $0 + (Double($1.first ?? "") ?? .nan) })
            }
        }
        let ratio = median(rates[true] ?? []) / median(rates[false] ?? [])
        report.add(
            "fleet.sends_per_second", .number(ratio),
            "times the calls per second of three processes with limiters of their own; the limit never binds")
    }

    /// Three processes whose load moves from one to the next, one of which is killed.
    private static func measureUse(_ etcd: LocalEtcd, into report: inout Report) async throws {
        let (permits, length, folder) = (50, 24, try folder())
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let nodes = try ["40,4,4,40", "4,40,4,40", "4,4,40,40"].map {
            try start(etcd.address, permits: permits, tasks: $0, seconds: length, below: folder)
        }
        for node in nodes { _ = node.process.line() }
        try await Task.sleep(for: .seconds(length * 3 / 4))
        nodes[2].process.kill()
        for node in nodes.prefix(2) { _ = try node.process.end() }
        let uses = nodes.flatMap(\.uses).sorted { $0.before < $1.before }
        let killed = nodes[2].uses.last?.before ?? 0
        let begin = (nodes.compactMap { $0.uses.first?.before }.max() ?? 0) + 1_000_000_000
        let used = uses.count { $0.before >= begin && $0.before < killed }
        report.add(
            "fleet.utilization", .number(Double(used) / (Double(permits) * Double(killed - begin) / 1e9)),
            "of the limit that three processes use, while the load moves from one to the next")
        var (first, most) = (0, 0)
        for (index, use) in uses.enumerated() {
            while use.after - uses[first].before >= 1_000_000_000 { first += 1 }
            most = max(most, index - first + 1)
        }
        report.add(
            "fleet.max_in_any_period", .count(most), "permits that were used in the fullest second; the limit is 50")
        // The first second after the death in which the other two use the whole limit but a tenth.
        let later = uses.map(\.before).filter { $0 > killed }
        let back = later.first { instant in
            later.count { $0 >= instant && $0 < instant + 1_000_000_000 } >= permits * 9 / 10
        }
        report.add(
            "fleet.takeover_seconds", .number(back.map { Double($0 - killed) / 1e9 } ?? .nan),
            "seconds from a kill until the others use all its permits, with a lifetime of 3 s")
    }
}

extension FleetBench {
    /// Twenty processes that start at once, and find that the token of their session has expired.
    private static func measureRefreshes(_ etcd: LocalEtcd, into report: inout Report) async throws {
        let server = try LoopbackServer()
        defer { server.close() }
        server.on(.post, "/token") { _ in
            // As long as a server takes that is far away.
            usleep(200_000)
            return .json(#"{"access":"new","refresh":"new"}"#)
        }
        let key = Data(repeating: 1, count: 32).base64EncodedString()
        let sessions = FleetSessions(
            in: EtcdFleetStore([etcd.address]), under: "errand/test", name: "api",
            key: try FleetKey(id: "k1", base64: key))
        let tokens = TokenStore(persistence: sessions) { $0 }
        await tokens.signIn(Token(accessToken: "old", refreshToken: "old", expiry: Date(timeIntervalSinceNow: -60)))
        await tokens.waitUntilSaved()
        let processes = try (0..<20).map { _ in
            try Child(
                Child.sibling("TokenSharer"),
                ["member", etcd.address, key, "http://127.0.0.1:\(server.port)", "\(lifetime)"])
        }
        let found = processes.map { $0.line() }
        for process in processes { _ = try process.end() }
        guard found.allSatisfy({ $0 == ["new"] }) else { throw Child.Failure(description: "\(found)") }
        report.add(
            "fleet.refreshes", .count(server.received.count),
            "requests for a token of twenty processes that find an expired session at once")
    }
}

/// Counts what is sent.
private final class CountingTransport: Transport {
    #if os(Linux)
    private let transport: any Transport = CurlTransport()
    #else
    private let transport: any Transport = URLSessionTransport()
    #endif
    private let count = Lock(0)

    var requests: Int { count.withLock { $0 } }

    func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        count.withLock { $0 += 1 }
        return try await transport.send(request, context: context)
    }

    func shutdown() async { await transport.shutdown() }
}
