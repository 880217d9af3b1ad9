import CAllocations
import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The process in which one of WireBench's measurements runs, so that its memory and its processor time are its own.
///
/// ```text
/// errand-bench worker calls|calls-on-executor <url> <tasks> <seconds>
/// errand-bench worker secure <url> <tasks> <seconds> <authorities>
/// errand-bench worker list <url> <tasks> <seconds> ours|theirs
/// errand-bench worker first ours|theirs
/// errand-bench worker call <url>
/// errand-bench worker allocations|clock-readings <url> <seconds>
/// errand-bench worker bytes <url> <tasks> <seconds>
/// errand-bench worker burst <url> <calls>
/// errand-bench worker waiting-slow <url> <calls>
/// errand-bench worker waiting-limited <url> <calls>
/// errand-bench worker download <url>
/// errand-bench worker file <url> <path>
/// errand-bench worker upload <url> <megabytes>
/// errand-bench worker put-file|post-form <url> <file>
/// errand-bench worker cache-memory
/// errand-bench worker faults
/// errand-bench worker hostile
/// errand-bench worker nothing
/// ```
enum WireWorker {
    struct Model: Decodable {
        let id: Int
        let name: String
        let mail: String
        let friends: [Int]
        let active: Bool
    }

    /// Prints the number of calls or bytes, the seconds that they took, and the peak memory in megabytes; of calls that
    /// wait, the memory that they take; or how often memory was allocated, or a clock read.
    static func run(_ arguments: [String]) async throws {
        if arguments == ["nothing"] { return print("nothing") }
        if arguments == ["cache-memory"] { return print(try await CacheBench.memoryFactor()) }
        if arguments == ["faults"] { return try await Fault.serve() }
        if arguments == ["hostile"] { return try await HostileBench.serve() }
        if arguments.first == "first" { return try JSONBench.printFirstUse(arguments.last ?? "") }
        let (kind, url) = (arguments.first ?? "", arguments.dropFirst().first ?? "")
        let numbers = arguments.dropFirst(2).compactMap(Double.init)
        #if os(Linux)
        // Opening libcurl is not measured: the curl program has also done so before it starts its timer.
        _ = CurlTransport.libraryVersion
        #endif
        let start = ContinuousClock.now
        let count: Int
        switch kind {
        case "calls", "calls-on-executor":
            let isOnExecutor = kind != "calls"
            count = try await calls(
                of: url, tasks: Int(numbers[0]), for: .seconds(numbers[1]), onExecutor: isOnExecutor)
        case "list":
            count = try await calls(of: url, as: [Model].self, tasks: Int(numbers[0]), for: .seconds(numbers[1])) {
                if arguments.last == "theirs" { $0.decoder = JSONDecoder() }
            }
        #if os(Linux)
        case "secure":
            count = try await calls(of: url, tasks: Int(numbers[0]), for: .seconds(numbers[1])) {
                var options = CurlTransport.Options()
                options.certificateAuthorities = arguments.last
                $0.transport = CurlTransport(options)
            }
        #endif
        case "call": count = try await calls(of: url, tasks: 1, for: .zero)
        case "allocations", "clock-readings":
            // The first calls fill what later ones use again.
            _ = try await calls(of: url, tasks: 1, for: .milliseconds(100))
            _ = allocations_begin()
            let count = try await calls(of: url, tasks: 1, for: .seconds(numbers[0]))
            let allocations = allocations_end()
            return print(count, numbers[0], kind == "allocations" ? allocations : clock_readings())
        case "bytes":
            count = try await calls(of: url, as: Data.self, tasks: Int(numbers[0]), for: .seconds(numbers[1]))
        case "burst": count = try await BurstWorker.burst(url, calls: Int(numbers[0]))
        case "waiting-slow", "waiting-limited":
            let calls = Int(numbers[0])
            let memory = try await BurstWorker.megabytes(
                of: calls, waitingAt: url, isLimited: kind == "waiting-limited")
            return print(calls, start.duration(to: .now) / .seconds(1), memory)
        case "put-file", "post-form":
            count = try await UploadBench.send(arguments.last ?? "", to: url, isForm: kind == "post-form")
        case "download": count = try await download(url)
        case "file": count = try await TransferBench.download(url, to: arguments.last ?? "")
        default: count = try await upload(Int(numbers[0]) << 20, to: url)
        }
        print(count, start.duration(to: .now) / .seconds(1), ProcessFigures.now.mostMegabytes)
    }

    private static func calls<Response: Decodable & Sendable>(
        of url: String, as type: Response.Type = Model.self, tasks: Int, for duration: Duration,
        onExecutor isOnExecutor: Bool = false, _ configure: (inout Configuration) -> Void = { _ in }
    ) async throws -> Int {
        let client = APIClient(url) {
            $0.rateLimit = .unlimited
            configure(&$0)
        }
        let end = ContinuousClock.now + duration
        return try await withThrowingTaskGroup(of: Int.self) { group in
            let call: @concurrent @Sendable () async throws -> Int = {
                var calls = 0
                repeat {
                    _ = try await client.run(Endpoint<Response>.get(""))
                    calls += 1
                } while ContinuousClock.now < end
                return calls
            }
            for _ in 0..<tasks {
                // A preference for none would cost something too.
                if isOnExecutor {
                    group.addTask(executorPreference: client.executor, operation: call)
                } else {
                    group.addTask(operation: call)
                }
            }
            return try await group.reduce(0, +)
        }
    }

    #if os(Linux)
    private static let transport = CurlTransport()
    #endif

    private static func send(_ method: HTTPMethod, _ url: String, body: HTTPBody? = nil) async throws -> HTTPResponse {
        #if os(Linux)
        try await transport.send(
            HTTPRequest(method: method, url: HTTPURL(url), body: body),
            context: TransportContext(delivery: .stream, bodyLimit: .max))
        #else
        throw ServiceError.transport(TransportFailure(.unsupported, "streams are measured on Linux"))
        #endif
    }

    private static func download(_ url: String) async throws -> Int {
        var count = 0
        for try await chunk in try await send(.get, url).body.chunks { count += chunk.count }
        return count
    }

    private static func upload(_ count: Int, to url: String) async throws -> Int {
        let chunk = Data(repeating: 7, count: 1 << 18)
        let left = Counter()
        left.add(count)
        let body = HTTPBody.stream(
            length: count,
            HTTPBody.Chunks {
                let size = min(chunk.count, left.value)
                left.add(-size)
                return size > 0 ? chunk.prefix(size) : nil
            })
        let response = try await send(.post, url, body: body)
        _ = try await response.body.collect(upTo: 1 << 20)
        return count
    }
}
