import ChildProcess
import Errand
import ErrandSimulation
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What the cache costs: a call that it answers, and what it adds to a call that it does not.
enum CacheBench {
    private static let calls = 20_000
    private static let cycles = 7
    private static let megabytes = 32

    static func run(into report: inout Report) async throws {
        var (hit, miss, stored, without): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
        for _ in 0..<cycles {
            let endpoint = Endpoint<NoContent>.get("users/7/friends")
            let fresh = client(answering: "max-age=3600")
            try await fresh.run(endpoint)
            hit.append(try await seconds { try await callAll(fresh, endpoint) })
            let unstored = client(answering: "no-store")
            miss.append(try await seconds { try await callAll(unstored, endpoint) })
            let storing = client(answering: "max-age=3600")
            stored.append(try await seconds { try await callAll(storing, endpoint.cache(.reload)) })
            let plain = client(answering: "no-store") { $0.cache = nil }
            without.append(try await seconds { try await callAll(plain, endpoint) })
        }
        let perCall = 1e6 / Double(calls)
        report.add("cache.hit_us_memory", .number(median(hit) * perCall), "µs for a call that the cache answers")
        report.add(
            "cache.cost_of_a_miss_us", .number((median(miss) - median(without)) * perCall),
            "µs that the cache adds to a call whose answer is not stored")
        report.add(
            "cache.cost_of_storing_us", .number((median(stored) - median(without)) * perCall),
            "µs that it adds to a call whose answer is stored")
        try await measureDisk(into: &report)
        // In a process that has used memory before, a full cache takes less than it needs.
        let child = try Child(Child.own, ["worker", "cache-memory"])
        let factor = child.line().first.flatMap(Double.init) ?? .nan
        _ = try child.end()
        report.add(
            "cache.memory_factor", .number(factor), "times the limit of \(megabytes) MB that a full cache takes")
    }

    /// How long a hit takes on a disk whose files the system has in memory.
    private static func measureDisk(into report: inout Report) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-bench-\(UUID())").path
        // It is in the system's folder for temporary files.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for (size, suffix) in [(2000, ""), (100_000, "_100_kb")] {
            let body = Data(repeating: 7, count: size)
            func client() -> APIClient {
                Self.client(answering: "max-age=3600", body: body) {
                    $0.cache = .disk("\(folder)/\(size)", megabytes: 2000)
                }
            }
            let files = 1000
            let endpoints = (0..<files).map { Endpoint<Data>.get("pages/\($0)") }
            let filling = client()
            for endpoint in endpoints { _ = try await filling.run(endpoint) }
            var (first, repeated): ([Double], [Double]) = ([], [])
            for _ in 0..<cycles {
                let next = client()
                _ = try await next.run(endpoints[0])
                first.append(try await seconds { for endpoint in endpoints { _ = try await next.run(endpoint) } })
                let last = endpoints[files - 1]
                repeated.append(try await seconds { for _ in 0..<files { _ = try await next.run(last) } })
            }
            let perCall = 1e6 / Double(files)
            let what = "µs for a call that a cache on a disk answers with \(size / 1000) KB"
            report.add("cache.hit_us_disk_first\(suffix)", .number(median(first) * perCall), "\(what), from a file")
            report.add("cache.hit_us_disk\(suffix)", .number(median(repeated) * perCall), "\(what), again")
        }
    }

    /// How much memory a cache takes that is full of small responses, as a multiple of its limit.
    static func memoryFactor() async throws -> Double {
        let client = client(answering: "max-age=3600", body: Data(count: 2000)) {
            $0.cache = .memory(megabytes: megabytes)
        }
        for number in 0..<100 { _ = try await client.run(Endpoint<Data>.get("warm/\(number)")) }
        let before = ProcessFigures.now.megabytes
        for number in 0..<calls { _ = try await client.run(Endpoint<Data>.get("pages/\(number)")) }
        return (ProcessFigures.now.megabytes - before) / Double(megabytes)
    }

    private static func client(
        answering control: String, body: Data = Data("1".utf8), _ configure: (inout Configuration) -> Void = { _ in }
    ) -> APIClient {
        let network = Network(
            response: HTTPResponse(
                status: 200, headers: ["Content-Type": "application/json", "Cache-Control": control, "ETag": "\"1\""],
                body: .bytes(body)))
        return APIClient("https://api.test") {
            $0.transport = network
            $0.rateLimit = .unlimited
            $0.cache = .memory(megabytes: 10)
            configure(&$0)
        }
    }

    private static func callAll(_ client: APIClient, _ endpoint: Endpoint<NoContent>) async throws {
        for _ in 0..<calls { _ = try await client.run(endpoint) }
    }

    /// A transport that answers at once. Each body is a copy of its own, as that of a server would be.
    private struct Network: Transport {
        let response: HTTPResponse

        var connectivity: Connectivity { .always }
        var identity: String? { "" }

        func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
            var response = response
            if let bytes = response.body.bytes { response.body = .bytes(Data(Array(bytes))) }
            return response
        }

        func shutdown() async {}
    }
}
