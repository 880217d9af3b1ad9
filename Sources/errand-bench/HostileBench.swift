import ChildProcess
import Errand
import ErrandSimulation
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Sends calls to a hostile server, whose replies are generated from numbers, while another host is called on the same
/// transport.
///
/// Every call must end in time, with its own value or a matching error; every call to the other host must succeed in
/// time; nothing may leak; and the process must not crash.
enum HostileBench {
    private static let tasks = 32
    /// Extra time, because a sanitizer makes everything slow.
    private static let grace = Duration.seconds(1)
    private static let limit = Duration.seconds(2)
    private static let lateSurplus = "a surplus that comes too late to be noticed"

    struct Model: Decodable {
        let id: Int
    }

    struct Tally {
        var ended: [String: Int] = [:]
        /// The problems, by the mutations of the reply, with the first number of each.
        var wrong: [String: (count: Int, first: String)] = [:]
        var latest = Duration.zero
        var innocent = Innocent.Tally()

        mutating func complain(_ name: String, _ example: String, count: Int = 1) {
            wrong[name, default: (0, example)].count += count
        }

        mutating func merge(_ other: Tally) {
            ended.merge(other.ended, uniquingKeysWith: +)
            for (name, wrong) in other.wrong { complain(name, wrong.first, count: wrong.count) }
            latest = max(latest, other.latest)
            innocent.merge(other.innocent)
        }
    }

    /// Runs `count` calls, beginning with the reply of the first number. Problems with `known` mutations are counted
    /// separately. Returns whether there were no others.
    static func run(
        into report: inout Report, calls: Int, from first: Int, servedBy program: String, without: Set<String>,
        known: Set<String>
    ) async throws -> Bool {
        let server = try Child(program, ["worker", "hostile"])
        defer { server.kill() }
        let url = "http://127.0.0.1:\(server.line().first ?? "")"
        let innocent = try Child(program, ["worker", "faults"])
        defer { innocent.kill() }
        let innocentURL = "http://127.0.0.1:\(innocent.line().first ?? "")"
        // The first calls allocate what stays: threads of the system's pool, caches, memory that the allocator keeps.
        _ = try await round(first..<first + calls / 10, without, at: url, beside: innocentURL)
        let before = ProcessFigures.now
        let start = ContinuousClock.now
        let tally = try await round(first..<first + calls, without, at: url, beside: innocentURL)
        let seconds = start.duration(to: .now) / .seconds(1)
        let after = ProcessFigures.now
        for (outcome, count) in tally.ended.sorted(by: { $0.key < $1.key }) {
            report.add("hostile.\(outcome)", .count(count), "calls that ended so")
        }
        let open = tally.wrong.filter { name, wrong in
            !known.contains(name) && !(name == lateSurplus && wrong.count <= 1 + calls / 1000)
        }
        for (name, wrong) in tally.wrong.sorted(by: { $0.key < $1.key }) {
            print("\(open[name] == nil ? "known" : "wrong"): \(name): \(wrong.count) calls, such as \(wrong.first)")
        }
        report.add(
            "hostile.calls", .count(calls), "calls over \(HostileMutation.all.count) mutations, in \(Int(seconds)) s")
        report.add(
            "hostile.wrong", .count(open.count), "mutations after which calls ended in another way than they should")
        report.add("hostile.known", .count(tally.wrong.count - open.count), "of which that is known")
        report.add(
            "hostile.latest_ms", .number(tally.latest / .milliseconds(1)), "ms after its limit, the last of all")
        tally.innocent.add(to: &report, "hostile")
        report.add(
            "hostile.descriptors", .count(after.descriptors - before.descriptors), "descriptors more than before")
        report.add("hostile.threads", .count(after.threads - before.threads), "threads more than before")
        report.add("hostile.memory_mb", .number(after.megabytes - before.megabytes), "MB of memory more than before")
        return open.isEmpty && tally.innocent.isUnharmed && tally.latest <= grace
            && after.descriptors <= before.descriptors && after.threads <= before.threads + 1
            && after.megabytes <= before.megabytes + 64
    }

    /// Serves the replies, each at the path of its number, until the process ends.
    static func serve() async throws {
        let server = try LoopbackServer()
        server.onAny { request in
            guard let number = Int(request.path.dropFirst()) else { return .status(404) }
            return HostileReply(number: number).reply()
        }
        Child.tellParent("\(server.port)")
        try await Child.waitForParentsEnd()
        server.close()
    }

    private static func round(_ numbers: Range<Int>, _ without: Set<String>, at url: String, beside innocent: String)
        async throws -> Tally
    {
        let (transport, client) = makeClient(url)
        let beside = Innocent(innocent, on: transport)
        let tally = await withTaskGroup(of: Tally.self) { group in
            for task in 0..<tasks {
                group.addTask {
                    var tally = Tally()
                    for number in stride(from: numbers.lowerBound + task, to: numbers.upperBound, by: tasks) {
                        await one(number, without, client, at: url, &tally)
                    }
                    return tally
                }
            }
            var all = Tally()
            for await tally in group { all.merge(tally) }
            return all
        }
        var all = tally
        all.innocent = await beside.end()
        await client.shutdown()
        await transport.shutdown()
        return all
    }

    private static func makeClient(_ url: String) -> (any Transport, APIClient) {
        #if os(Linux)
        let transport = CurlTransport()
        #else
        let transport = URLSessionTransport()
        #endif
        let client = APIClient(url) {
            $0.rateLimit = .unlimited
            $0.responseByteLimit = 1 << 20
            $0.transport = transport
            $0.retry = .never
        }
        return (transport, client)
    }

    private static func one(
        _ number: Int, _ without: Set<String>, _ client: APIClient, at url: String, _ tally: inout Tally
    ) async {
        let reply = HostileReply(number: number)
        if !without.isEmpty, reply.mutations.contains(where: { without.contains($0.name) }) { return }
        let isCancelled = number.isMultiple(of: 13)
        let start = ContinuousClock.now
        let outcome = await call(number, client, isCancelled: isCancelled)
        tally.latest = max(tally.latest, start.duration(to: .now) - longest(number))
        tally.ended[outcomeName(of: outcome), default: 0] += 1
        guard let complaint = complaint(about: outcome, reply, isCancelled: isCancelled) else { return }
        let example = "\(number): \(outcome)"
        guard case .failure(let error) = outcome else { return tally.complain(complaint, example) }
        // The machine may have been busy, or the previous reply may have spoiled the connection: a repetition on its
        // own shows it.
        let (transport, alone) = makeClient(url)
        let again = await call(number, alone, isCancelled: false)
        await alone.shutdown()
        await transport.shutdown()
        if self.complaint(about: again, reply, isCancelled: false) != nil { return tally.complain(complaint, example) }
        if !isOfItsOwn(error) { tally.complain(lateSurplus, example) }
    }

    /// How long a call may take.
    private static func longest(_ number: Int) -> Duration { number.isMultiple(of: 2) ? limit : limit * 2 }

    private static func call(_ number: Int, _ client: APIClient, isCancelled: Bool) async -> Result<Int, ServiceError> {
        // Either limit may apply: that of silence or that of the whole call, which ends a drip too.
        var bound = Endpoint<Model>.get("\(number)").deadline(longest(number))
        if !number.isMultiple(of: 2) { bound = bound.timeout(limit) }
        let task = Task { () -> Result<Int, ServiceError> in
            do throws(ServiceError) {
                return .success(try await client.run(bound).id)
            } catch {
                return .failure(error)
            }
        }
        if isCancelled {
            // The sleep ends early only if the bench itself is canceled.
            try? await Task.sleep(for: .microseconds(number % 40_000))
            task.cancel()
        }
        return await task.value
    }

    /// Whether a call may end with this error on a connection that received nothing else.
    private static func isOfItsOwn(_ error: ServiceError) -> Bool {
        switch error {
        case .timedOut: true
        case .transport(let failure): failure.kind == .reset
        default: false
        }
    }

    /// Returns what is wrong with the outcome; `nil` if nothing is.
    private static func complaint(
        about outcome: Result<Int, ServiceError>, _ reply: HostileReply, isCancelled: Bool
    ) -> String? {
        let name = outcomeName(of: outcome)
        let done = reply.mutations.map(\.name).joined(separator: " + ")
        let isSound = reply.mutations.isEmpty && !isCancelled
        if isSound && name != "value" || (outcome.success ?? 0) < 0 {
            // Bytes that a server sends after its response, and that arrive during the next request, cannot be told
            // from the response to that request: HTTP/1.1 has no request numbers.
            return lateSurplus
        }
        if case .success(let id) = outcome, id != reply.number {
            // A scrambled body may contain other digits; otherwise this is the response to an earlier request of the
            // connection, which took late surplus bytes for its own response.
            return reply.isScrambled ? nil : lateSurplus
        }
        let isRedirect = reply.mutations.contains { $0.name == "a redirect to somewhere" }
        // This error is expected here.
        if isRedirect, name == "transport_refused" { return nil }
        let unhelpful = ["other", "transport_other", "transport_unavailable", "transport_refused", "transport_dns"]
        // Wording that would mislead the person who looks for the cause.
        if unhelpful.contains(name) { return reply.mutations.count == 1 ? done : "an error without a meaning" }
        if isCancelled && name == "cancelled" { return nil }
        guard let allowed = reply.allowed, !allowed.contains(name) else { return nil }
        return done.isEmpty ? "nothing" : done
    }
}

extension Result {
    fileprivate var success: Success? {
        if case .success(let value) = self { value } else { nil }
    }
}
