import ChildProcess
import Errand
import ErrandSimulation
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Which locks a call takes that calls of another thread take too: how often, how often one is not free, and for how
/// long it is held. It needs a build that counts them.
enum LockBench {
    private static let (tasks, seconds) = (64, 2.0)

    static func run(into report: inout Report) async throws {
        #if LOCK_STATISTICS
        for (name, configure) in [("plain", { _ in }), ("everything", everything(try await tokens()))] as [Case] {
            let server = try Child(Child.sibling("wire-peer"), ["serve"])
            defer { server.kill() }
            let url = "http://127.0.0.1:\(server.line().first ?? "")/small"
            let calls = try await count(url, configure)
            let kinds = LockStatistics.kinds.sorted { $0.contended > $1.contended }
            let each = 1 / Double(calls)
            report.add(
                "locks.\(name).per_call", .number(Double(kinds.reduce(0) { $0 + $1.count }) * each),
                "how many locks a call takes")
            report.add(
                "locks.\(name).not_free_per_1000", .number(Double(kinds.reduce(0) { $0 + $1.contended }) * each * 1000),
                "how many of them another thread has, in 1,000 calls")
            // What no other thread has ever had belongs to a call, or is hardly used.
            for kind in kinds where Double(kind.contended) * each * 1000 >= 0.1 {
                let lock = "locks.\(name).\(kind.shortName)"
                report.add("\(lock).per_call", .number(Double(kind.count) * each), "how often a call takes it")
                report.add(
                    "\(lock).not_free_per_1000", .number(Double(kind.contended) * each * 1000),
                    "how often another thread has it, in 1,000 calls")
                report.add(
                    "\(lock).held_ns", .number(kind.held / .nanoseconds(kind.count)),
                    "nanoseconds for which it is held, with a reading of the clock")
            }
        }
        #else
        throw Child.Failure(description: "locks are counted with `-Xswiftc -DLOCK_STATISTICS`")
        #endif
    }

    #if LOCK_STATISTICS
    private typealias Case = (String, (inout Configuration) -> Void)

    private static func tokens() async throws -> TokenStore {
        let tokens = TokenStore { $0 }
        await tokens.signIn(Token(accessToken: "token", expiry: Date(timeIntervalSinceNow: 86_400)))
        return tokens
    }

    private static func everything(_ tokens: TokenStore) -> (inout Configuration) -> Void {
        { configuration in
            configuration.tokens = tokens
            configuration.rateLimit = .requests(1_000_000, per: .seconds(1))
            configuration.deadline = .seconds(30)
            configuration.cache = .memory(megabytes: 8)
            configuration.cookies = CookieJar()
            configuration.breaker = .standard
            configuration.sharesEqualRequests = true
        }
    }

    private static func count(_ url: String, _ configure: (inout Configuration) -> Void) async throws -> Int {
        var options = CurlTransport.Options()
        options.loops = 4
        let client = APIClient(url) {
            $0.rateLimit = .unlimited
            configure(&$0)
            $0.transport = CurlTransport(options)
        }
        let calls = Counter()
        for isWarm in [false, true] {
            if isWarm { LockStatistics.reset() }
            let end = ContinuousClock.now + .seconds(seconds)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<tasks {
                    group.addTask {
                        repeat {
                            _ = try await client.run(Endpoint<NoContent>.get("", query: ["task": number]))
                            if isWarm { calls.add(1) }
                        } while ContinuousClock.now < end
                    }
                }
                try await group.waitForAll()
            }
        }
        await client.shutdown()
        return calls.value
    }
    #endif
}

#if LOCK_STATISTICS
extension LockStatistics.Kind {
    /// The name of the type, without those of modules and files.
    fileprivate var shortName: String {
        name.replacing(/\(unknown context at \$\w+\)\.|Errand\.|Swift\./, with: "")
    }
}
#endif
