import ChildProcess
#if os(Linux)
import Errand
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

/// Makes calls to a server that attacks over HTTP/2, one attack after the other, while another host is called on the
/// same transport. Tests/HTTP2Attacks contains the attacks.
enum HostileHTTP2 {
    private static let grace = Duration.milliseconds(250)
    private static let limit = Duration.seconds(1)

    private struct Attack {
        let name: String
        let port: String
        let allowed: Set<String>
        let recovers: Bool

        /// `name:port:allowed,allowed:recovers`
        init?(_ word: String) {
            let parts = word.split(separator: ":").map(String.init)
            guard parts.count == 4 else { return nil }
            (name, port, recovers) = (parts[0], parts[1], parts[3] == "1")
            allowed = Set(parts[2].split(separator: ",").map(String.init))
        }
    }

    private struct Verdict {
        var ended: [String: Int] = [:]
        /// What went wrong, in words, by the kinds that may be known: outcomes, and others in capital letters.
        var wrong: [String: Set<String>] = [:]
        var latest = Duration.zero

        mutating func note(_ kind: String, _ words: String) { wrong[kind, default: []].insert(words) }
    }

    /// Runs every attack, or those named; `script` is the path of the server's script. What is `known` to go wrong, as
    /// `attack=outcome,outcome`, is counted separately. Returns whether nothing else did.
    static func run(
        into report: inout Report, script: String, only: Set<String>, without: Set<String>, known: Set<String>
    ) async throws -> Bool {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("http2-\(getpid())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // A folder that cannot be deleted stays with the system's other temporary files.
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = try Child("python3", [script, folder.path])
        defer { server.kill() }
        let attacks = server.line().compactMap(Attack.init).filter {
            (only.isEmpty || only.contains($0.name)) && !without.contains($0.name)
        }
        guard !attacks.isEmpty else { throw Child.Failure(description: "\(script) could not be started") }
        let innocent = try Child(Child.own, ["worker", "faults"])
        defer { innocent.kill() }
        let innocentURL = "http://127.0.0.1:\(innocent.line().first ?? "")"

        var options = CurlTransport.Options()
        options.certificateAuthorities = folder.appendingPathComponent("server.pem").path
        let transport = CurlTransport(options)
        let start = ContinuousClock.now
        let known = outcomes(of: known)
        var (open, expected, latest, all) = (0, 0, Duration.zero, Innocent.Tally())
        let before = ProcessFigures.now
        for attack in attacks {
            let beside = Innocent(innocentURL, on: transport)
            var verdict = try await make(attack, on: transport)
            // There is no such file if nothing came twice.
            if let tokens = try? String(contentsOf: folder.appendingPathComponent(attack.name), encoding: .utf8) {
                verdict.note("TWICE", "came twice: \(tokens)")
            }
            let tally = await beside.end()
            if !tally.isUnharmed {
                let failed = "\(tally.failures.count) of \(tally.calls) failed"
                verdict.note("OTHER", "the other host: \(failed), \(tally.slowest) the slowest")
            }
            all.merge(tally)
            if verdict.latest > grace { verdict.note("LATE", "\(verdict.latest) too late") }
            latest = max(latest, verdict.latest)
            let outcomes = verdict.ended.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
            let isKnown = known[attack.name, default: []].isSuperset(of: verdict.wrong.keys)
            let mark = verdict.wrong.isEmpty ? "ok   " : isKnown ? "known" : "wrong"
            print(mark, attack.name, "-", outcomes.joined(separator: ", "))
            for (kind, all) in verdict.wrong.sorted(by: { $0.key < $1.key }) {
                for words in all.sorted() { print("        \(kind): \(words)") }
            }
            // Printed at once, so that a person who waits for an attack sees which one it is.
            fflush(nil)
            guard !verdict.wrong.isEmpty else { continue }
            if isKnown { expected += 1 } else { open += 1 }
        }
        await transport.shutdown()
        let after = ProcessFigures.now
        let seconds = Int(start.duration(to: .now) / .seconds(1))
        report.add("http2.attacks", .count(attacks.count), "attacks over HTTP/2, in \(seconds) s")
        report.add("http2.wrong", .count(open), "of which did harm")
        report.add("http2.known", .count(expected), "of which did harm that is known")
        report.add("http2.latest_ms", .number(latest / .milliseconds(1)), "ms after its deadline, the last call of all")
        all.add(to: &report, "http2")
        report.add("http2.descriptors", .count(after.descriptors - before.descriptors), "descriptors more than before")
        report.add("http2.memory_mb", .number(after.megabytes - before.megabytes), "MB of memory more than before")
        return open == 0
    }

    /// Reads entries such as `attack=outcome,outcome`.
    private static func outcomes(of known: Set<String>) -> [String: Set<String>] {
        known.reduce(into: [:]) { outcomes, entry in
            let parts = entry.split(separator: "=")
            guard parts.count == 2 else { return print("not attack=outcome,outcome: \(entry)") }
            outcomes[String(parts[0])] = Set(parts[1].split(separator: ",").map(String.init))
        }
    }

    /// Makes a few calls at once, with and without a body, and one more when they have ended.
    ///
    /// Those with a body are retried where the server can have seen nothing of them. The others are not: they are safe,
    /// and would be sent again in any case.
    private static func make(_ attack: Attack, on transport: CurlTransport) async throws -> Verdict {
        let (reading, writing) = (client(.never), client(.standard))
        func client(_ retry: RetryPolicy) -> APIClient {
            APIClient("https://127.0.0.1:\(attack.port)") {
                $0.rateLimit = .unlimited
                $0.responseByteLimit = 1 << 20
                $0.transport = transport
                $0.retry = retry
            }
        }
        var verdict = Verdict()
        let results = await withTaskGroup(of: (Int, Result<Int, ServiceError>, Duration).self) { group in
            for (token, bytes) in [(1, 10), (2, 100_000)] {
                let body = RequestBody.data(Data(count: bytes), contentType: "a/b")
                group.addTask { await call(.post("\(token)", body: body), token, writing) }
            }
            for token in 3...4 { group.addTask { await call(.get("\(token)"), token, reading) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let last = await call(.get("5"), 5, reading)
        for (token, result, overrun) in results + [last] {
            let name = outcomeName(of: result)
            verdict.ended[name, default: 0] += 1
            verdict.latest = max(verdict.latest, overrun)
            if case .success(let id) = result, id != token {
                verdict.note("VALUE", "another's value: \(id)")
            } else if !attack.allowed.contains(name) {
                verdict.note(name, "\(result)")
            }
        }
        if attack.recovers, case .failure(let error) = last.1 {
            verdict.note(outcomeName(of: last.1), "has not recovered: \(error)")
        }
        await reading.shutdown()
        await writing.shutdown()
        return verdict
    }

    private static func call(
        _ endpoint: Endpoint<HostileBench.Model>, _ token: Int, _ client: APIClient
    ) async -> (Int, Result<Int, ServiceError>, Duration) {
        let start = ContinuousClock.now
        var result: Result<Int, ServiceError>
        do throws(ServiceError) {
            result = .success(try await client.run(endpoint.deadline(limit)).id)
        } catch {
            result = .failure(error)
        }
        return (token, result, start.duration(to: .now) - limit)
    }
}
#endif
