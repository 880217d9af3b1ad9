/// Measures the library against its budgets: `swift run -c release errand-bench [--json] [--core | --wire] [--url <url>]`.
@main
enum Main {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "worker" { return try await WireWorker.run(Array(arguments.dropFirst())) }
        let url = arguments.firstIndex(of: "--url").flatMap { arguments.dropFirst($0 - arguments.startIndex + 1).first }
        var report = Report()
        if !arguments.contains("--wire") {
            try await CoreBench.run(into: &report)
            if !arguments.contains("--core") {
                try await TokenBench.run(into: &report)
                try await LimiterBench.run(into: &report)
                try await CancelBench.run(into: &report)
                try await DecodeBench.run(into: &report)
            }
        }
        if !arguments.contains("--core") { try WireBench.run(into: &report, url: url) }
        print(arguments.contains("--json") ? report.json : report.table)
    }
}
