/// Measures the library against its budgets: `swift run -c release errand-bench [--json]`.
@main
enum Main {
    static func main() async throws {
        var report = Report()
        try await CoreBench.run(into: &report)
        if CommandLine.arguments.contains("--core") { return print(report.table) }
        try await TokenBench.run(into: &report)
        try await LimiterBench.run(into: &report)
        try await CancelBench.run(into: &report)
        try await DecodeBench.run(into: &report)
        print(CommandLine.arguments.contains("--json") ? report.json : report.table)
    }
}
