import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("Several calls, a few at once", .timeLimit(.minutes(10))) struct SeveralCallsTests {
    private let clock = TestClock()
    private let network = scripted()

    /// Scripts calls that take as many seconds as their number says, and some that fail.
    private func script(_ count: Int, failing: Set<Int> = []) {
        for number in 0..<count {
            let reply = failing.contains(number) ? ScriptedReply.status(404) : .json("\(number)")
            network.on(.get, "/\(number)", reply.after(.seconds(number % 3 + 1)).times(1))
        }
    }

    private func endpoints(_ count: Int) -> [Endpoint<Int>] { (0..<count).map { .get("\($0)") } }

    /// The greatest number of calls that run at once.
    private func watch(_ client: APIClient) async -> Int {
        var most = 0
        for await number in client.activity { most = max(most, number) }
        return most
    }

    @Test("values come in the order of the endpoints, and no more run at once than were asked for")
    func order() async throws {
        script(10)
        let client = testClient(network, clock)
        try await clock.run {
            let most = Task(executorPreference: clock.executor) { await watch(client) }
            await Task.yield()
            let values = try await client.runAll(endpoints(10), atMost: 4)
            #expect(values == Array(0..<10))
            await client.shutdown()
            #expect(await most.value == 4)
        }
    }

    @Test("the first error cancels what runs, and nothing else begins")
    func failure() async throws {
        script(10, failing: [1])
        let client = testClient(network, clock)
        let error = await clock.run {
            await #expect(throws: ServiceError.self) { try await client.runAll(endpoints(10), atMost: 3) }
        }
        #expect(error?.status == 404)
        // 0 and 1 end after a second and two, and 2 after three; then 3 has begun.
        #expect(clock.elapsed == .seconds(2))
        #expect(network.sent.map(\.request.url.path) == ["/0", "/1", "/2", "/3"])
        _ = try? network.verify()
    }

    @Test("results are of each call, in order; an error ends no other")
    func results() async throws {
        script(6, failing: [1, 4])
        let client = testClient(network, clock)
        let results = await clock.run {
            await client.results(of: Array(0..<6), atMost: 2) { try await client.run(Endpoint<Int>.get("\($0)")) }
        }
        #expect(results.map { try? $0.get() } == [0, nil, 2, 3, nil, 5])
        try network.verify()
    }

    @Test("canceling the task cancels what runs, and what has not begun is canceled too", arguments: [true, false])
    func canceled(isThrowing: Bool) async throws {
        script(9)
        let client = testClient(network, clock)
        await clock.run {
            let task = Task(executorPreference: clock.executor) { () -> [ServiceError?] in
                do {
                    if isThrowing {
                        _ = try await client.runAll(endpoints(9), atMost: 3)
                        return []
                    }
                    let results = await client.results(of: endpoints(9), atMost: 3) { try await client.run($0) }
                    return results.map { if case .failure(let error) = $0 { error } else { nil } }
                } catch {
                    return [error as? ServiceError]
                }
            }
            try? await clock.sleep(for: .milliseconds(1500))
            task.cancel()
            let expected = [ServiceError?](repeating: .cancelled, count: 8)
            #expect(await task.value == (isThrowing ? [.cancelled] : [nil] + expected))
        }
        #expect(network.sent.count == 4)
        _ = try? network.verify()
    }

    @Test("a limit below one is refused, and nothing is sent; of nothing, nothing comes")
    func senseless() async throws {
        let client = testClient(network, clock)
        for limit in [0, -1] {
            let error = await #expect(throws: ServiceError.self) {
                try await client.runAll(endpoints(2), atMost: limit)
            }
            guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
            #expect(invalid.reason == "at most \(limit) calls at once; use 1 or more")
            let results = await client.results(of: endpoints(2), atMost: limit) { try await client.run($0) }
            #expect(results.map(\.isSuccess) == [false, false])
        }
        #expect(network.sent.isEmpty)
        #expect(try await client.runAll(endpoints(0), atMost: 8).isEmpty)
    }

    @Test("an error of another kind is translated")
    func foreign() async throws {
        struct Odd: Error {}
        let client = testClient(network, clock)
        let error = await #expect(throws: ServiceError.self) {
            try await client.runAll([1], atMost: 1) { _ -> Int in throw Odd() }
        }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .other && failure.message.hasSuffix("Odd"))
    }

    // MARK: One progress

    @Test("the progress of several transfers is one sum, and an attempt that begins again takes back its bytes")
    func progress() {
        let seen = Noted<[TransferProgress]>([])
        let whole = CombinedProgress(total: 30) { progress in seen.update { $0.append(progress) } }
        let (one, two) = (whole.part(), whole.part())
        one(TransferProgress(bytes: 4, total: 10))
        two(TransferProgress(bytes: 20, total: 20))
        one(TransferProgress(bytes: 0, total: 10, attempt: 2))
        one(TransferProgress(bytes: 10, total: 10, attempt: 2))
        #expect(seen.value.map(\.bytes) == [4, 24, 20, 30])
        #expect(seen.value.map(\.attempt) == [1, 1, 2, 2])
        #expect(seen.value.last?.fraction == 1)
    }

    @Test("reports come one after the other, and the last has the bytes of all")
    func concurrentProgress() async {
        let depth = Noted(0)
        let last = Noted(0)
        let whole = CombinedProgress { progress in
            depth.update { $0 += 1 }
            #expect(depth.value == 1)
            last.update { $0 = progress.bytes }
            depth.update { $0 -= 1 }
        }
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    let report = whole.part()
                    for bytes in 1...1000 { report(TransferProgress(bytes: bytes)) }
                }
            }
        }
        #expect(last.value == 8000)
    }
}

extension Result {
    fileprivate var isSuccess: Bool { if case .success = self { true } else { false } }
}
