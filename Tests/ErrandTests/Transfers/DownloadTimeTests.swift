import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Downloads from a script, in virtual time.
@Suite("A download and time") struct DownloadTimeTests {
    private let clock = TestClock()
    private let network = scripted()
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    private var target: String { scratch.path("file") }

    /// Scripts a body of `count` bytes from `start` on, one at a time, each after a pause. The last may be followed by
    /// a break.
    private func reply(
        _ range: Range<Int>, of total: Int, every pause: Duration, thenBreaks: Bool = false, tag: String = "\"1\""
    ) -> ScriptedReply {
        var headers: HTTPHeaders = ["ETag": tag]
        if range.lowerBound > 0 {
            headers["Content-Range"] = "bytes \(range.lowerBound)-\(total - 1)/\(total)"
        } else {
            headers["Content-Length"] = "\(total)"
        }
        let body = HTTPBody.stream(opening: { [clock] in
            let next = Noted(range.lowerBound)
            return HTTPBody.Chunks(unfolding: {
                try await clock.sleep(for: pause)
                guard next.value < range.upperBound else {
                    guard thenBreaks else { return nil }
                    throw ServiceError.transport(TransportFailure(.reset, "scripted"))
                }
                next.update { $0 += 1 }
                return Data([UInt8(truncatingIfNeeded: next.value)])
            })
        })
        return .response(HTTPResponse(status: range.lowerBound > 0 ? 206 : 200, headers: headers, body: body))
    }

    private func content(_ count: Int) -> Data { Data((1...count).map { UInt8(truncatingIfNeeded: $0) }) }

    @Test("D9: progress never goes back, is reported at most ten times a second and at the end, with the fraction")
    func progress() async throws {
        network.on(.get, "/file", reply(0..<1000, of: 1000, every: .milliseconds(3)))
        let client = testClient(network, clock)
        let reported = Noted<[(TransferProgress, Duration)]>([])
        try await clock.run {
            try await client.download(.get("file"), to: target) { [clock] progress in
                reported.update { $0.append((progress, clock.elapsed)) }
            }
        }
        let (values, moments) = (reported.value.map(\.0), reported.value.map(\.1))
        #expect(zip(values, values.dropFirst()).allSatisfy { $0.bytes < $1.bytes })
        // The last is reported whenever it comes.
        let pauses = zip(moments, moments.dropFirst()).map { $1 - $0 }.dropLast()
        #expect(pauses.allSatisfy { $0 >= .milliseconds(100) && $0 <= .milliseconds(103) })
        #expect(values.first == TransferProgress(bytes: 1, total: 1000))
        #expect(values.last == TransferProgress(bytes: 1000, total: 1000) && values.last?.fraction == 1)
        #expect(try Data(contentsOf: URL(filePath: target)) == content(1000))
    }

    @Test("D9: a new attempt has a number of its own; one that begins again may go back")
    func progressOfAttempts() async throws {
        network.on(
            .get, "/file", reply(0..<6, of: 10, every: .seconds(1), thenBreaks: true),
            reply(6..<8, of: 10, every: .seconds(1), thenBreaks: true),
            reply(0..<10, of: 10, every: .seconds(1), tag: "\"2\""))
        let client = testClient(network, clock)
        let reported = Noted<[TransferProgress]>([])
        try await clock.run {
            try await client.download(.get("file"), to: target) { progress in reported.update { $0.append(progress) } }
        }
        let expected =
            (1...6).map { TransferProgress(bytes: $0, total: 10, attempt: 1) }
            + (7...8).map { TransferProgress(bytes: $0, total: 10, attempt: 2) }
            + (1...10).map { TransferProgress(bytes: $0, total: 10, attempt: 3) }
        // The end is reported again, when the file is in place.
        #expect(reported.value == expected + [TransferProgress(bytes: 10, total: 10, attempt: 3)])
        #expect(network.sent.map { $0.request.headers["Range"] } == [nil, "bytes=6-", "bytes=8-"])
    }

    @Test("silence breaks an attempt off; it goes on after a pause of the retry policy, which the events report")
    func silence() async throws {
        network.on(.get, "/file", reply(0..<6, of: 10, every: .seconds(1)), reply(6..<10, of: 10, every: .seconds(1)))
        network.on(.get, "/slow", reply(0..<1, of: 10, every: .seconds(31)).times(3))
        let client = testClient(network, clock) { $0.timeout = .seconds(30) }
        let events = client.diagnostics
        try await clock.run {
            try await client.download(.get("file"), to: target)
            let start = clock.elapsed
            let error = await #expect(throws: ServiceError.self) {
                try await client.download(.get("slow"), to: target + ".slow")
            }
            guard case .timedOut(let timeout) = error else { throw try #require(error) }
            #expect(timeout.bound == .attempt && timeout.phase == .receiving)
            #expect(clock.elapsed - start >= .seconds(90))
            await client.shutdown()
        }
        var (pauses, ends) = (0, 0)
        for await event in events {
            switch event.kind {
            case .retrying(after: .failure, let pause):
                pauses += 1
                #expect(pause <= .milliseconds(400))
            case .succeeded(let attempts, _):
                ends += 1
                #expect(attempts == 2)
            case .ended: ends += 1
            default: break
            }
        }
        #expect(pauses == 3 && ends == 2)
        #expect(clock.alarmCount == 0)
    }

    @Test("the deadline limits the whole download; what has come is kept")
    func deadline() async throws {
        network.on(
            .get, "/file", reply(0..<6, of: 100, every: .seconds(1), thenBreaks: true),
            reply(6..<100, of: 100, every: .seconds(1)))
        let client = testClient(network, clock)
        try await clock.run {
            let error = await #expect(throws: ServiceError.self) {
                try await client.download(.get("file").deadline(.milliseconds(20_500)), to: target)
            }
            guard case .timedOut(let timeout) = error else { throw try #require(error) }
            #expect(timeout.bound == .deadline && timeout.limit == .milliseconds(20_500))
            #expect(clock.elapsed == .milliseconds(20_500))
            let kept = try Data(contentsOf: URL(filePath: target + ".part")).count
            #expect(kept == 19)
        }
    }

    enum Stop: CaseIterable { case cancelAll, shutdown, task }

    private func end(_ download: Task<DownloadedFile, some Error>, of client: APIClient, by stop: Stop) async {
        switch stop {
        case .cancelAll: client.cancelAll()
        case .shutdown: await client.shutdown()
        case .task: download.cancel()
        }
    }

    @Test(
        "cancelAll, shutdown and the task end a download while it receives and while it pauses; what came is kept",
        arguments: Stop.allCases, [3500, 7001, 15_000])
    func stopped(by stop: Stop, at moment: Int) async throws {
        network.on(
            .get, "/file", reply(0..<6, of: 100, every: .seconds(1), thenBreaks: true),
            reply(6..<100, of: 100, every: .seconds(1)).always)
        let client = testClient(network, clock) { $0.retry = RetryPolicy(attempts: 3, base: .seconds(2)) }
        try await clock.run {
            let download = Task(executorPreference: clock.executor) {
                try await client.download(.get("file"), to: target)
            }
            try await clock.sleep(for: .milliseconds(moment))
            #expect(await client.activity.first { _ in true } == 1)
            await end(download, of: client, by: stop)
            await #expect(throws: ServiceError.cancelled) { try await download.value }
            #expect(clock.elapsed == .milliseconds(moment))
        }
        let kept = try Data(contentsOf: URL(filePath: target + ".part"))
        #expect(moment == 15_000 ? kept.count > 6 : kept.count == (moment == 3500 ? 3 : 6))
        #expect(kept == content(kept.count))
        #expect(clock.alarmCount == 0 && clock.sleepers == 0)
    }

    @Test("a download ends at once when its user signs out, whatever the server does")
    func signedOut() async throws {
        network.on(.get, "/file", reply(0..<100, of: 100, every: .seconds(2)))
        let tokens = TokenStore(time: clock) { $0 }
        let client = testClient(network, clock) { $0.tokens = tokens }
        try await clock.run {
            await tokens.signIn(Token(accessToken: "ann"))
            let download = Task(executorPreference: clock.executor) {
                try await client.download(.get("file"), to: target)
            }
            try await clock.sleep(for: .seconds(5))
            await tokens.signOut()
            let error = await #expect(throws: ServiceError.self) { try await download.value }
            guard case .sessionExpired(let expiry) = error else { throw try #require(error) }
            #expect(expiry.reason == .signedOut)
            #expect(clock.elapsed == .seconds(5))
        }
        #expect(!FileManager.default.fileExists(atPath: target + ".part"))
        #expect(clock.alarmCount == 0 && clock.sleepers == 0)
    }

    @Test(
        "the first question for an address belongs to the call: it is counted, and each stop ends it",
        arguments: Stop.allCases)
    func asking(stop: Stop) async throws {
        let client = testClient(network, clock)
        let events = Noted<[ClientEvent]>([])
        let listener = client.diagnostics
        try await clock.run {
            let download = Task(executorPreference: clock.executor) {
                try await client.download(
                    asking: { [clock] in
                        try await clock.sleep(for: .seconds(100))
                        return .get("file")
                    }, to: target)
            }
            try await clock.sleep(for: .seconds(5))
            #expect(await client.activity.first { _ in true } == 1)
            await end(download, of: client, by: stop)
            await #expect(throws: ServiceError.cancelled) { try await download.value }
            #expect(clock.elapsed == .seconds(5))
            if stop != .shutdown { #expect(await client.activity.first { _ in true } == 0) }
            await client.shutdown()
        }
        for await event in listener { events.update { $0.append(event) } }
        #expect(events.value.count == 2 && Set(events.value.map(\.call)).count == 1)
        #expect(clock.alarmCount == 0 && clock.sleepers == 0)
    }

    /// Downloads from an address for which somebody is asked for that long. Returns how long it takes until the
    /// deadline ends that.
    private func timeUntilDeadline(
        _ client: APIClient, asking seconds: Int, _ endpoint: Endpoint<Data> = .get("file")
    ) async throws -> Duration {
        let start = clock.elapsed
        let error = await #expect(throws: ServiceError.self) {
            try await client.download(
                asking: { [clock] in
                    try await clock.sleep(for: .seconds(seconds))
                    return endpoint
                }, to: target)
        }
        guard case .timedOut(let timeout) = error else { throw try #require(error) }
        #expect(timeout.bound == .deadline)
        return clock.elapsed - start
    }

    @Test("the deadline covers the question for an address, and goes on counting with its answer")
    func deadlineOfQuestion() async throws {
        network.on(.get, "/file", reply(0..<100, of: 100, every: .seconds(1)).times(2))
        let client = testClient(network, clock) { $0.deadline = .seconds(20) }
        let times = try await clock.run {
            [
                try await timeUntilDeadline(client, asking: 100), try await timeUntilDeadline(client, asking: 15),
                // The endpoint's own counts from the beginning too.
                try await timeUntilDeadline(client, asking: 5, .get("file").deadline(.seconds(8))),
                try await timeUntilDeadline(client, asking: 10, .get("file").deadline(.seconds(8))),
            ]
        }
        #expect(times == [.seconds(20), .seconds(20), .seconds(8), .seconds(10)])
        #expect(network.sent.count == 2)
        #expect(clock.alarmCount == 0 && clock.sleepers == 0)
    }

    @Test(
        "a download whose address was asked for is one call, in `activity` and in the events, and can be stopped later")
    func askedAndStopped() async throws {
        network.on(.get, "/file", reply(0..<100, of: 100, every: .seconds(1)))
        let client = testClient(network, clock)
        let listener = client.diagnostics
        try await clock.run {
            let download = Task(executorPreference: clock.executor) {
                try await client.download(
                    asking: { [clock] in
                        try await clock.sleep(for: .seconds(3))
                        return .get("file")
                    }, to: target)
            }
            try await clock.sleep(for: .milliseconds(7500))
            #expect(await client.activity.first { _ in true } == 1)
            client.cancelAll()
            await #expect(throws: ServiceError.cancelled) { try await download.value }
            #expect(clock.elapsed == .milliseconds(7500))
            #expect(await client.activity.first { _ in true } == 0)
            await client.shutdown()
        }
        var (calls, begun, ended) = (Set<Int>(), 0, 0)
        for await event in listener {
            calls.insert(event.call)
            switch event.kind {
            case .began: begun += 1
            case .ended(_, _, let age):
                ended += 1
                #expect(age == .milliseconds(7500) && event.endpoint == "GET file")
            default: break
            }
        }
        #expect(calls.count == 1 && begun == 1 && ended == 1)
    }
}
