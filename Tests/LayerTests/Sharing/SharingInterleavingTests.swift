@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

// Serialized: each seed is a long piece of work, and hundreds at once would delay the tests that use real time.
@Suite("Interleavings of shared requests", .serialized, .timeLimit(.minutes(10)))
struct SharingInterleavingTests {
    @Test(
        "K8, K11, K12: random steps of ten tasks break no guarantee of shared requests",
        arguments: UInt64(0)..<(LongRun.isWanted ? 200 : 16))
    func walk(seed: UInt64) async throws {
        let walk = SharingWalk(seed: seed)
        try await walk.run(tasks: 10, steps: 50)
        let (found, values, joined) = walk.result
        #expect(found.isEmpty, "\(found)")
        // A walk that makes no progress, or in which nothing is shared, proves nothing.
        #expect(values > 50 && joined > 20, "\(values) values, \(joined) joined")
    }
}

/// One random run: ten tasks read and write three resources, leave early, have deadlines, cancel everything.
private struct SharingWalk: Sendable {
    private struct Notes {
        var violations: [String] = []
        var values = 0
        var joined = 0
        var finished = 0
        /// The versions that callers know to be written.
        var written: [String: Int] = [:]
    }

    private let clock: TestClock
    private let server: VersionServer
    private let client: APIClient
    private let notes: Noted<Notes>

    init(seed: UInt64) {
        let (clock, notes) = (TestClock(seed: seed), Noted(Notes()))
        // A retry may begin when later calls share another transmission: then there are two sends.
        let retries = seed % 2 == 0
        let server = VersionServer(clock, seesOneAtOnce: !retries)
        self.clock = clock
        self.server = server
        self.notes = notes
        client = testClient(server, clock) {
            $0.sharesEqualRequests = true
            $0.retry = retries ? RetryPolicy(attempts: 2, base: .milliseconds(100)) : .never
            $0.observe = { event in
                if case .joined = event.kind { notes.update { $0.joined += 1 } }
            }
        }
    }

    var result: (violations: [String], values: Int, joined: Int) {
        (notes.value.violations + server.violations, notes.value.values, notes.value.joined)
    }

    func run(tasks: Int, steps: Int) async throws {
        try await clock.run {
            for _ in 0..<tasks {
                Task(executorPreference: clock.executor) {
                    for _ in 0..<steps { await step() }
                    notes.update { $0.finished += 1 }
                }
            }
            // Longer than all steps together.
            try await clock.sleep(for: .seconds(3600 * 24))
            if notes.value.finished != tasks { note("\(tasks - notes.value.finished) tasks wait for ever") }
            if server.active != 0 { note("\(server.active) sends never ended") }
            if clock.alarmCount != 0 { note("\(clock.alarmCount) alarms are left") }
        }
        await client.shutdown()
    }

    private func step() async {
        let path = "\(clock.random() % 3)"
        switch clock.random() % 20 {
        case 0: client.cancelAll()
        case 1...3: await write(path)
        case 4...6: await pause(upTo: 3000)
        case 7...9: await leaveEarly(path)
        case 10, 11: await read(path, deadline: .milliseconds(Int64(clock.random() % 2000)))
        default: await read(path)
        }
    }

    /// A call must see at least the version that was there when it began, and what it does not share is its own.
    private func read(_ path: String, deadline: Duration? = nil) async {
        let (start, seen) = (clock.now, notes.value.written[path] ?? 0)
        var endpoint = Endpoint<Int>.get("\(path)")
        if let deadline { endpoint = endpoint.deadline(deadline) }
        do throws(ServiceError) {
            let version = try await client.run(endpoint)
            notes.update { $0.values += 1 }
            if version < seen { note("version \(version) of \(path) was read after \(seen) was written") }
        } catch .cancelled {
        } catch .timedOut(let timeout) where timeout.bound == .deadline {
            if let deadline, start.advanced(by: deadline) < clock.now { note("a deadline was missed") }
        } catch .serverFailure(_) {
        } catch {
            note("unexpected: \(error)")
        }
    }

    private func write(_ path: String) async {
        defer { server.noteWrite() }
        guard let reply = try? await client.reply(to: Endpoint<Int>.post("\(path)")) else { return }
        notes.update { $0.written[path] = max($0.written[path] ?? 0, reply.value) }
    }

    private func leaveEarly(_ path: String) async {
        let call = Task(executorPreference: clock.executor) {
            await read(path)
            return clock.now
        }
        await pause(upTo: 1000)
        let cancelled = clock.now
        call.cancel()
        if await call.value > cancelled { note("a cancelled call stayed") }
    }

    private func pause(upTo milliseconds: UInt64) async {
        try? await clock.sleep(for: .milliseconds(Int64(clock.random() % milliseconds)))
    }

    private func note(_ violation: String) {
        notes.update { $0.violations.append(violation) }
    }
}

/// A server whose resources have versions: a write makes a new one at some moment, and a read returns the one that is
/// there at some moment. It notes sends that should have been shared.
private final class VersionServer: Transport {
    private struct Send {
        let path: String
        let began: Instant
        /// When an equal read began while this one was open.
        var doubled: Instant?
    }

    private struct State {
        var versions: [String: Int] = [:]
        /// When the call of the last write ended.
        var lastWrite = Instant.zero
        var reads: [Int: Send] = [:]
        var active = 0
        var number = 0
        var violations: [String] = []
    }

    private let clock: TestClock
    /// Whether there is at most one send for equal reads between two writes.
    private let seesOneAtOnce: Bool
    private let state = Noted(State())

    init(_ clock: TestClock, seesOneAtOnce: Bool) {
        self.clock = clock
        self.seesOneAtOnce = seesOneAtOnce
    }

    var connectivity: Connectivity { .always }
    var violations: [String] { state.value.violations }
    var active: Int { state.value.active }

    /// Notes that the call of a write has ended.
    func noteWrite() {
        state.update { $0.lastWrite = clock.now }
    }

    func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        state.update { $0.active += 1 }
        defer { state.update { $0.active -= 1 } }
        let path = String(request.url.description.suffix(1))
        return try await request.method == .get ? read(path) : write(path)
    }

    private func read(_ path: String) async throws -> HTTPResponse {
        let number = begin(path)
        defer { end(number) }
        try await pause()
        let version = state.value.versions[path] ?? 0
        try await pause()
        return clock.random() % 10 > 0 ? .version(version) : HTTPResponse(status: 503)
    }

    private func begin(_ path: String) -> Int {
        let now = clock.now
        state.update { state in
            state.number += 1
            for (number, read) in state.reads where read.path == path && read.doubled == nil {
                // What began in the moment of a write may have begun before it.
                if read.began > state.lastWrite { state.reads[number]?.doubled = now }
            }
            state.reads[state.number] = Send(path: path, began: now)
        }
        return state.value.number
    }

    private func end(_ number: Int) {
        let now = clock.now
        state.update { state in
            // One that was cancelled ends in the moment in which the next may begin.
            guard let doubled = state.reads.removeValue(forKey: number)?.doubled, doubled < now else { return }
            if seesOneAtOnce { state.violations.append("two equal reads at once") }
        }
    }

    private func write(_ path: String) async throws -> HTTPResponse {
        try await pause()
        state.update { $0.versions[path, default: 0] += 1 }
        let version = state.value.versions[path] ?? 0
        try await pause()
        return .version(version)
    }

    private func pause() async throws {
        try await clock.sleep(for: .milliseconds(Int64(clock.random() % 800)))
    }

    func shutdown() async {}
}

extension HTTPResponse {
    fileprivate static func version(_ number: Int) -> HTTPResponse {
        HTTPResponse(status: 200, headers: ["Content-Type": "application/json"], body: .bytes(Data("\(number)".utf8)))
    }
}
