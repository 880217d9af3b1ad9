import ChildProcess
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Makes calls over real connections to a server in another process, and compares them with a bare libcurl loop in C
/// and with URLSession; compares a large download and upload with the `curl` program. Each measurement runs in a
/// process of its own, one after the other.
enum WireBench {
    private static let tasks = [1, 16, 64]
    private static let cycles = 3
    private static let seconds = 1.0
    private static let megabytes = 1000

    private enum Contender: String, CaseIterable {
        case errand, executor, libcurl, urlsession
    }

    private struct Figures {
        var callsPerSecond: Double
        var microsecondsOfCPU: Double
    }

    /// Measures against the server at that URL, or a server that the bench starts.
    static func run(into report: inout Report, url: String?) throws {
        let server = url == nil ? try Child(Child.sibling("wire-peer"), ["serve"]) : nil
        defer { server?.kill() }
        let base = server.map { "http://127.0.0.1:\($0.line().first ?? "")" }
        let target = url ?? "\(base ?? "")/small"
        var worst: [String: Double] = [:]
        for tasks in tasks {
            let figures = try measure(target, tasks: tasks)
            guard let errand = figures[.errand] else { continue }
            add(errand, tasks: tasks, to: &report)
            if let executor = figures[.executor], let libcurl = figures[.libcurl] {
                let meaning = "on the transport's executor to those of libcurl, with \(tasks) tasks"
                report.add(
                    "wire.on_executor_vs_libcurl_calls_\(tasks)",
                    .number(executor.callsPerSecond / libcurl.callsPerSecond), "calls per second \(meaning)")
                report.add(
                    "wire.on_executor_vs_libcurl_cpu_\(tasks)",
                    .number(executor.microsecondsOfCPU / libcurl.microsecondsOfCPU), "µs of CPU time \(meaning)")
            }
            for rival in [Contender.urlsession, .libcurl] {
                guard let other = figures[rival] else { continue }
                let calls = errand.callsPerSecond / other.callsPerSecond
                let cpu = errand.microsecondsOfCPU / other.microsecondsOfCPU
                report.add(
                    "wire.vs_\(rival)_calls_\(tasks)", .number(calls), "its calls per second to those of \(rival)")
                report.add(
                    "wire.vs_\(rival)_cpu_\(tasks)", .number(cpu), "its processor time per call to that of \(rival)")
                guard tasks > 1 else { continue }
                worst["wire.vs_\(rival)_calls"] = min(worst["wire.vs_\(rival)_calls"] ?? .infinity, calls)
                worst["wire.vs_\(rival)_cpu"] = max(worst["wire.vs_\(rival)_cpu"] ?? 0, cpu)
            }
        }
        for (key, value) in worst.sorted(by: { $0.key < $1.key }) {
            report.add(key, .number(value), "the worse of 16 and 64 tasks")
        }
        if let base { try measureDecoding("\(base)/list", into: &report) }
        let one = try worker(["call", target])
        report.add("wire.rss_mb", .number(one.memory), "MB of memory, at most, in a process that makes one call")
        let allocating = try worker(["allocations", target, "1"])
        let allocations = allocating.memory / allocating.count
        report.add("wire.allocations_per_call", .number(allocations), "allocations by such a call")
        let bare = try Child(Child.sibling("wire-peer"), ["allocations", target, "1"])
        let numbers = bare.line().compactMap(Double.init)
        _ = try bare.end()
        guard numbers.count == 4 else { throw Child.Failure(description: "wire-peer said nothing") }
        report.add(
            "wire.own_allocations", .number(allocations - numbers[2] / numbers[0]),
            "those that a bare libcurl loop does not make")
        let reading = try worker(["clock-readings", target, "1"])
        report.add(
            "wire.own_clock_reads", .number(reading.memory / reading.count - numbers[3] / numbers[0]),
            "readings of a clock by such a call that a bare libcurl loop does not make")
        guard let base else { return }
        #if os(Linux)
        try SystemCallBench.run(target, into: &report)
        try TLSBench.run(into: &report)
        #endif
        try measureStreams(base, into: &report)
        try TransferBench.run(base, into: &report)
        try StartBench.run(base, into: &report)
        try BodyBench.run(base, into: &report)
        try BurstBench.run(base, into: &report)
        try UploadBench.run(base, into: &report)
    }

    private static func add(_ figures: Figures, tasks: Int, to report: inout Report) {
        let meaning = "with \(tasks) task\(tasks == 1 ? "" : "s")"
        report.add("wire.calls_per_s_\(tasks)", .number(figures.callsPerSecond), "typed GETs per second \(meaning)")
        report.add("wire.cpu_us_per_call_\(tasks)", .number(figures.microsecondsOfCPU), "µs of CPU time per call")
        guard tasks == 64 else { return }
        report.add("wire.calls_per_s", .number(figures.callsPerSecond), "the same \(meaning)")
        report.add("wire.cpu_us_per_call", .number(figures.microsecondsOfCPU), "the same \(meaning)")
    }

    /// The contenders alternate, so that a slow moment of the machine affects all of them.
    private static func measure(_ url: String, tasks: Int) throws -> [Contender: Figures] {
        var rates: [Contender: [Figures]] = [:]
        for _ in 0..<cycles {
            for contender in Contender.allCases {
                let arguments = [url, "\(tasks)", "\(seconds)"]
                let child =
                    switch contender {
                    case .errand: try Child(Child.own, ["worker", "calls"] + arguments)
                    case .executor: try Child(Child.own, ["worker", "calls-on-executor"] + arguments)
                    case .libcurl: try Child(Child.sibling("wire-peer"), ["loop"] + arguments)
                    case .urlsession: try Child(Child.sibling("wire-urlsession"), arguments)
                    }
                let numbers = child.line().compactMap(Double.init)
                let cpu = try child.end()
                guard numbers.count >= 2 else { throw Child.Failure(description: "\(contender) said nothing") }
                rates[contender, default: []].append(
                    Figures(callsPerSecond: numbers[0] / numbers[1], microsecondsOfCPU: cpu * 1e6 / numbers[0]))
            }
        }
        return rates.mapValues { figures in
            Figures(
                callsPerSecond: median(figures.map(\.callsPerSecond)),
                microsecondsOfCPU: median(figures.map(\.microsecondsOfCPU)))
        }
    }

    /// The decoders alternate, like the contenders.
    private static func measureDecoding(_ url: String, into report: inout Report) throws {
        var rates: [String: [Double]] = [:]
        for _ in 0..<cycles {
            for decoder in ["ours", "theirs"] {
                let child = try Child(Child.own, ["worker", "list", url, "16", "\(seconds)", decoder])
                let numbers = child.line().compactMap(Double.init)
                _ = try child.end()
                guard numbers.count >= 2 else { throw Child.Failure(description: "worker list said nothing") }
                rates[decoder, default: []].append(numbers[0] / numbers[1])
            }
        }
        let (ours, theirs) = (median(rates["ours"] ?? [0]), median(rates["theirs"] ?? [1]))
        report.add("wire.json_10k_calls_per_s", .number(ours), "typed GETs of ten kilobytes per second with 16 tasks")
        report.add("wire.json_10k_vs_jsondecoder", .number(ours / theirs), "the same to that with JSONDecoder")
    }

    private static func measureStreams(_ base: String, into report: inout Report) throws {
        let url = "\(base)/bytes/\(megabytes << 20)"
        var (down, up): ([Double], [Double]) = ([], [])
        var memory = 0.0
        for _ in 0..<cycles {
            let download = try worker(["download", url])
            let upload = try worker(["upload", "\(base)/upload", "\(megabytes)"])
            memory = max(memory, download.memory, upload.memory)
            guard let curlDown = curl(["-o", "/dev/null", url]), let curlUp = curlUpload(to: "\(base)/upload") else {
                continue
            }
            down.append(curlDown / download.seconds)
            up.append(curlUp / upload.seconds)
        }
        report.add("wire.stream_rss_mb", .number(memory), "MB of memory, at most, while \(megabytes) MB are streamed")
        // Without the program there is nothing to compare with.
        guard !down.isEmpty else { return }
        report.add("wire.download_vs_curl", .number(median(down)), "the speed of \(megabytes) MB to that of curl")
        report.add("wire.upload_vs_curl", .number(median(up)), "likewise, sent")
    }

    /// Has another process measure that, and returns what it says.
    static func worker(
        _ arguments: [String]
    ) throws -> (count: Double, seconds: Double, memory: Double, processorSeconds: Double) {
        let child = try Child(Child.own, ["worker"] + arguments)
        let numbers = child.line().compactMap(Double.init)
        let processorSeconds = try child.end()
        guard numbers.count == 3 else { throw Child.Failure(description: "worker \(arguments) said nothing") }
        return (numbers[0], numbers[1], numbers[2], processorSeconds)
    }

    /// Returns how long the curl program takes; `nil` if it is not installed.
    static func curl(_ arguments: [String]) -> Double? {
        // A program that cannot be started, or fails, gives no figure.
        guard let child = try? Child("curl", ["-s", "-w", "%{time_total}\n"] + arguments) else { return nil }
        let seconds = child.line().first.flatMap(Double.init)
        return (try? child.end()) == nil ? nil : seconds
    }

    private static func curlUpload(to url: String) -> Double? {
        let file = FileManager.default.temporaryDirectory.appending(path: "errand-bench-\(megabytes)").path
        // A file that cannot be removed stays in a folder that the system empties.
        defer { try? FileManager.default.removeItem(atPath: file) }
        guard (try? UploadBench.create(file, size: megabytes << 20)) != nil else { return nil }
        let arguments = ["-o", "/dev/null", "-X", "POST", "-H", "Expect:", "-T", file, url]
        // The first run brings the file into memory, where the bytes of the other side are.
        _ = curl(arguments)
        return curl(arguments)
    }
}
