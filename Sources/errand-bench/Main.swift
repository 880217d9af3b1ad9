#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Measures the library against its budgets.
@main
enum Main {
    private static let usage = """
        swift run -c release errand-bench [--json] [what]

        --core            only what a call costs by itself
        --wire            only calls over real connections
        --url <url>       measures the wire against that server
        --faults <calls>  calls over everything that a server may do
        --soak <minutes>  calls at full speed, and the memory after each minute
        """

    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == "worker" { return try await WireWorker.run(Array(arguments.dropFirst())) }
        if arguments.contains("--help") { return print(usage) }
        guard areKnown(arguments) else {
            print(usage)
            exit(2)
        }
        func value(of option: String) -> String? {
            arguments.firstIndex(of: option).flatMap { arguments.dropFirst($0 + 1).first }
        }
        var report = Report()
        if let calls = value(of: "--faults").flatMap({ Int($0) }) {
            try await FaultBench.run(into: &report, calls: calls)
        } else if let minutes = value(of: "--soak").flatMap({ Int($0) }) {
            try await SoakBench.run(into: &report, minutes: minutes)
        } else {
            try await measure(
                into: &report, isCoreOnly: arguments.contains("--core"), isWireOnly: arguments.contains("--wire"),
                url: value(of: "--url"))
        }
        print(arguments.contains("--json") ? report.json : report.table)
    }

    private static func areKnown(_ arguments: [String]) -> Bool {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            switch option {
            case "--json", "--core", "--wire": break
            case "--url": if rest.popFirst() == nil { return false }
            case "--faults", "--soak": if rest.popFirst().flatMap({ Int($0) }) ?? 0 < 1 { return false }
            default: return false
            }
        }
        return true
    }

    private static func measure(into report: inout Report, isCoreOnly: Bool, isWireOnly: Bool, url: String?)
        async throws
    {
        if !isWireOnly { try await CoreBench.run(into: &report) }
        if isCoreOnly { return }
        if !isWireOnly {
            try await TokenBench.run(into: &report)
            try await LimiterBench.run(into: &report)
            try await CancelBench.run(into: &report)
            try await DecodeBench.run(into: &report)
        }
        try WireBench.run(into: &report, url: url)
    }
}
