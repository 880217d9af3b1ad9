import ChildProcess
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

/// Measures the library and compares the results with its budgets.
@main
enum Main {
    private static let usage = """
        swift run -c release errand-bench [--json] [what]

        --core            only what a call costs by itself
        --cache           only what the cache costs
        --wire            only calls over real connections
        --tls             only calls over TLS
        --servers         only several servers, and servers that fail
        --fleet           only a limit that processes share, over etcd
        --decode          only decoding
        --events          only event streams
        --fields          what calls cost whose responses have fields that are slow to read; fails above the budget
        --ready           other tasks beside streams whose bytes are always ready; fails where they do not run
        --locks           which locks calls take, and how often one is not free; needs a build with
                          -Xswiftc -DLOCK_STATISTICS
        --url <url>       measures the wire against that server
        --faults <calls>  calls over everything that a server may do
        --hostile <calls> calls over the replies of a hostile server; fails where one does harm
          --from <number> begins with the reply of that number
          --server <path> serves them by that build of this program, which need not be as slow as this one
        --http2 <script>  calls to the attacks over HTTP/2 that the script serves; fails where one does harm
          --only <names>  none but these of them, separated by semicolons
          --without <names> leaves these out, of either, separated by semicolons
          --known <names> what is known to do harm, of either, separated by semicolons; of an attack over HTTP/2, what
                          goes wrong: attack=outcome,outcome
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
        func names(of option: String) -> Set<String> {
            Set(value(of: option)?.split(separator: ";").map(String.init) ?? [])
        }
        var report = Report()
        var isUnharmed = true
        if let calls = value(of: "--faults").flatMap({ Int($0) }) {
            try await FaultBench.run(into: &report, calls: calls)
        } else if let calls = value(of: "--hostile").flatMap({ Int($0) }) {
            isUnharmed = try await HostileBench.run(
                into: &report, calls: calls, from: value(of: "--from").flatMap { Int($0) } ?? 1,
                servedBy: value(of: "--server") ?? Child.own, without: names(of: "--without"),
                known: names(of: "--known"))
        } else if let script = value(of: "--http2") {
            #if os(Linux)
            isUnharmed = try await HostileHTTP2.run(
                into: &report, script: script, only: names(of: "--only"), without: names(of: "--without"),
                known: names(of: "--known"))
            #endif
        } else if arguments.contains("--tls") {
            #if os(Linux)
            try TLSBench.run(into: &report)
            #endif
        } else if arguments.contains("--cache") {
            try await CacheBench.run(into: &report)
        } else if arguments.contains("--servers") {
            try await ServersBench.run(into: &report)
        } else if arguments.contains("--fleet") {
            try await FleetBench.run(into: &report)
        } else if arguments.contains("--events") {
            try await EventBench.run(into: &report)
        } else if arguments.contains("--fields") {
            isUnharmed = await FieldBench.run(into: &report)
        } else if arguments.contains("--ready") {
            isUnharmed = await ReadyBench.run(into: &report)
        } else if arguments.contains("--locks") {
            try await LockBench.run(into: &report)
        } else if arguments.contains("--decode") {
            try await DecodeBench.run(into: &report)
            try JSONBench.run(into: &report)
        } else if let minutes = value(of: "--soak").flatMap({ Int($0) }) {
            try await SoakBench.run(into: &report, minutes: minutes)
        } else {
            try await measure(
                into: &report, isCoreOnly: arguments.contains("--core"), isWireOnly: arguments.contains("--wire"),
                url: value(of: "--url"))
        }
        print(arguments.contains("--json") ? report.json : report.table)
        if !isUnharmed { exit(1) }
    }

    private static func areKnown(_ arguments: [String]) -> Bool {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            switch option {
            case "--json", "--core", "--cache", "--wire", "--tls", "--decode", "--events", "--servers", "--fleet",
                "--fields", "--locks", "--ready":
                break
            case "--url", "--known", "--only", "--without", "--http2", "--server":
                if rest.popFirst() == nil { return false }
            case "--faults", "--soak", "--hostile", "--from":
                if rest.popFirst().flatMap({ Int($0) }) ?? 0 < 1 { return false }
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
            try await CacheBench.run(into: &report)
            try await TokenBench.run(into: &report)
            try await LimiterBench.run(into: &report)
            try await ServersBench.run(into: &report)
            try await FleetBench.run(into: &report)
            try await SharingBench.run(into: &report)
            try await CancelBench.run(into: &report)
            try await DecodeBench.run(into: &report)
            try JSONBench.run(into: &report)
            try await EventBench.run(into: &report)
        }
        try WireBench.run(into: &report, url: url)
    }
}
