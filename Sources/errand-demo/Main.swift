import Errand
import ErrandSimulation
import ExampleServer
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Shows what the library does, against four small backends on a server that the demo starts: `swift run errand-demo`.
@main
enum Main {
    private static let usage = """
        swift run errand-demo [--base-url <url>] [--verbose]
        swift run errand-demo --serve

        --base-url <url>  uses a server that runs elsewhere: another `--serve`
        --verbose         shows every event of the calls
        --serve           starts the server, prints its URL and waits
        """

    static func main() async throws {
        var arguments = CommandLine.arguments.dropFirst()
        if arguments.elementsEqual(["--serve"]) { return try await serve() }
        if arguments.first == "--node" { return try await FleetDemoNode.run(Array(arguments.dropFirst())) }
        var (base, isVerbose): (String?, Bool) = (nil, false)
        while let argument = arguments.popFirst() {
            switch argument {
            case "--base-url":
                guard let url = arguments.popFirst() else { refuse("--base-url needs a URL") }
                do {
                    _ = try HTTPURL(url)
                } catch {
                    refuse("\(error)")
                }
                base = url.hasSuffix("/") ? String(url.dropLast()) : url
            case "--verbose": isVerbose = true
            case "--help": return print(usage)
            case "--serve": refuse("--serve stands alone")
            default: refuse("there is no option \(argument)")
            }
        }
        let server = base == nil ? try ExampleServer() : nil
        defer { server?.close() }
        let terminal = Terminal()
        let failed = await run(Scene(base ?? server?.loopback.baseURL ?? "", terminal, isVerbose: isVerbose))
        exit(failed == 0 ? 0 : 1)
    }

    /// Reports what is wrong with the options, and exits.
    private static func refuse(_ problem: String) -> Never {
        let words = Array("errand-demo: \(problem)\n\n\(usage)\n".utf8)
        _ = write(STDERR_FILENO, words, words.count)
        exit(2)
    }

    private static func serve() async throws {
        let server = try ExampleServer()
        Terminal().say(server.loopback.baseURL)
        try await Task.sleep(for: .seconds(86_400 * 365))
        server.close()
    }

    /// Runs all steps and returns how many of them failed.
    private static func run(_ scene: Scene) async -> Int {
        let terminal = scene.terminal
        var failed = 0
        for (number, step) in Step.all.enumerated() {
            terminal.say("\n\(number + 1). \(step.title)", .title)
            terminal.say("  asked  \(step.asked)")
            await scene.wire.empty()
            let start = ContinuousClock.now
            let outcome: String
            var style = Terminal.Style.good
            do {
                outcome = try await step.run(scene)
            } catch {
                failed += 1
                (outcome, style) = ("NOT AS IT SHOULD BE: \(error)", .bad)
            }
            for line in shown(await scene.wire.all) { terminal.say("  wire   \(line)", .faint) }
            let seconds = Double((start.duration(to: .now) / .milliseconds(1)).rounded()) / 1000
            terminal.say("  back   \(terminal.painted(outcome, style)) \(terminal.painted("(\(seconds) s)", .faint))")
        }
        await scene.end()
        let total = Step.all.count
        terminal.say()
        if failed == 0 {
            terminal.say("All \(total) steps did what they say.", .good)
        } else {
            terminal.say("\(failed) of \(total) steps did not do what they say.", .bad)
        }
        return failed
    }

    /// Shortens repetitions of one line to a single line.
    private static func shown(_ entries: [WireLog.Entry]) -> [String] {
        var lines: [(text: String, count: Int)] = []
        for entry in entries {
            if lines.last?.text == entry.line {
                lines[lines.count - 1].count += 1
            } else {
                lines.append((entry.line, 1))
            }
        }
        let most = 8
        let rest = lines.dropFirst(most).reduce(0) { $0 + $1.count }
        return lines.prefix(most).map { $0.count > 1 ? "\($0.text)  ×\($0.count)" : $0.text }
            + (rest > 0 ? ["and \(rest) more"] : [])
    }
}
