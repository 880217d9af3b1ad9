import Errand
import ErrandTestSupport
import ErrandTesting
import ExampleServices
import Foundation
import Observation
import Testing

@Suite("Social, in virtual time") struct SocialScreenTests {
    private let clock = TestClock()
    private let network = script()
    private let client: APIClient
    private let service: Social.FriendsService

    init() {
        client = Social.client(
            ServerEnvironment(name: "social", baseURL: "https://social.test/api/v1"), appToken: "app", user: 1,
            scripted(network, clock))
        service = Social.FriendsService(client)
    }

    private let list = "/api/v1/friends?application_token=app&user_id=1"

    @Test("tapped again, the load that runs is canceled, and the second one's friends are shown")
    @MainActor func tappedTwice() async throws {
        network.on(.get, list, .json(#"[{"id": 7}]"#).after(.seconds(2)), .json(#"[{"id": 8}]"#).after(.seconds(2)))
        let screen = Social.FriendsScreen(service)
        let first = Task { await screen.load() }
        await network.sent(atLeast: 1)
        await clock.advance(by: .seconds(1))
        let second = Task { await screen.load() }
        await network.sent(atLeast: 2)
        await first.value
        #expect(screen.friends.isEmpty && screen.message == nil)
        await clock.advance(by: .seconds(2))
        await second.value
        #expect(screen.friends.map(\.id) == [8])
    }

    @Test("the friends of the last time are shown at once, and stay if the server fails")
    @MainActor func stored() async throws {
        network.on(
            .get, list, .json(#"[{"id": 7}]"#, headers: ["Cache-Control": "max-age=0", "ETag": "\"1\""]),
            .status(503).after(.seconds(2)))
        await Social.FriendsScreen(service).load()
        let screen = Social.FriendsScreen(service)
        let load = Task { await screen.load() }
        await network.sent(atLeast: 2)
        #expect(screen.friends.map(\.id) == [7] && screen.isLoading && screen.message == nil)
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: .seconds(2))
        await load.value
        #expect(screen.friends.map(\.id) == [7] && !screen.isLoading && screen.message != nil)
    }

    @Test("with a folder, the friends of the last time are there when the app starts again")
    func nextStart() async throws {
        network.on(
            .get, list, .json(#"[{"id": 7}]"#, headers: ["Cache-Control": "max-age=0", "ETag": "\"1\""]), .status(503))
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await clock.run {
            let first = startedService(in: folder)
            let loaded = try await first.friends()
            #expect(loaded.map(\.id) == [7])
            // The client of another start, which has nothing but the folder.
            let second = startedService(in: folder)
            let shown = Noted<[[Int]]>([])
            let error = await failure { () async throws(ServiceError) in
                for try await reply in second.friendsAtOnce() { shown.update { $0.append(reply.value.map(\.id)) } }
            }
            #expect(shown.value == [[7]])
            #expect(error?.refusal?.status == 503)
        }
    }

    private func startedService(in folder: String) -> Social.FriendsService {
        Social.FriendsService(
            Social.client(
                ServerEnvironment(name: "social", baseURL: "https://social.test/api/v1"), appToken: "app", user: 1,
                folder: folder, scripted(network, clock)))
    }

    @Test("the screen is loading from the first tap until the last load has ended")
    @MainActor func loading() async throws {
        network.on(.get, list, .json("[]").after(.seconds(2)), .status(503).after(.seconds(2)))
        let screen = Social.FriendsScreen(service)
        #expect(!screen.isLoading)
        let first = Task { await screen.load() }
        await network.sent(atLeast: 1)
        #expect(screen.isLoading)
        let second = Task { await screen.load() }
        await network.sent(atLeast: 2)
        await first.value
        #expect(screen.isLoading)
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: .seconds(2))
        await second.value
        #expect(!screen.isLoading && screen.message != nil)
    }

    @Test(
        "the screen says how many friends it could not show",
        arguments: [
            (#"[{"id": 1}]"#, 0, nil), (#"[{"id": 1}, {}]"#, 1, "One friend could not be shown"),
            (#"[{}, {"id": 1}, {"name": "x"}]"#, 2, "2 friends could not be shown"),
        ] as [(String, Int, String?)])
    @MainActor func leftOut(body: String, count: Int, note: String?) async throws {
        network.on(.get, list, .json(body), .json("[]"))
        let screen = Social.FriendsScreen(service)
        await screen.load()
        #expect(screen.friends.map(\.id) == [1])
        #expect(screen.skippedCount == count && screen.note == note)
        await screen.load()
        #expect(screen.skippedCount == 0 && screen.note == nil)
    }

    @Test("a view that shows the screen is notified of each change")
    @MainActor func observed() async throws {
        network.on(.get, list, .json(#"[{"id": 7}, {}]"#))
        let screen = Social.FriendsScreen(service)
        await confirmation(expectedCount: 3) { isTold in
            withObservationTracking {
                _ = screen.friends
            } onChange: {
                isTold()
            }
            withObservationTracking {
                _ = screen.note
            } onChange: {
                isTold()
            }
            withObservationTracking {
                _ = screen.isLoading
            } onChange: {
                isTold()
            }
            await screen.load()
        }
    }

    @Test("an error is shown by its description, and goes with the next load that works")
    @MainActor func message() async throws {
        network.on(.get, list, .json(#"{"message": "Back in a minute"}"#, status: 503), .json("[]"))
        let screen = Social.FriendsScreen(service)
        await screen.load()
        #expect(screen.message == ServiceError.serverFailure(Rejection(status: 503)).localizedDescription)
        await screen.load()
        #expect(screen.message == nil)
    }

    @Test("without a network nothing is sent, and the message says so")
    @MainActor func offline() async throws {
        let offline = Social.client(
            ServerEnvironment(name: "social", baseURL: "https://social.test/api/v1"), appToken: "app", user: 1
        ) {
            scripted(network, clock)(&$0)
            $0.connectivity = Connectivity { false }
        }
        let screen = Social.FriendsScreen(Social.FriendsService(offline))
        await screen.load()
        #expect(screen.message == ServiceError.noInternetConnection.localizedDescription)
        #expect(network.sent.isEmpty)
    }

    @Test("the spinner runs while any call is in flight")
    func spinner() async throws {
        network.on(.get, list, .json("[]").after(.seconds(1)), .json("[]").after(.seconds(2)))
        try await clock.run {
            let spinner = Task(executorPreference: clock.executor) {
                await service.activity.reduce(into: []) { $0.append($1) }
            }
            try await clock.sleep(for: .seconds(1))
            async let first = service.friends()
            try await clock.sleep(for: .milliseconds(500))
            async let second = service.friends()
            _ = try await (first, second)
            try await clock.sleep(for: .seconds(1))
            await client.shutdown()
            #expect(await spinner.value == [0, 1, 2, 1, 0])
        }
    }

    @Test("a silent server is a timeout")
    func silent() async throws {
        network.on(.get, list, .silence)
        await clock.run {
            let error = await failure { () async throws(ServiceError) in try await service.friends() }
            let limit = Timeout(.attempt, limit: .seconds(30), phase: .waitingForResponse)
            #expect(error == .timedOut(limit))
        }
    }

    /// The stage at which a load is cancelled.
    enum Stage: CaseIterable {
        case notBegun, inLine, waiting, backingOff
    }

    @Test("a cancelled load stops in every stage, and sends nothing afterwards", arguments: Stage.allCases)
    func stopped(stage: Stage) async throws {
        let reply: ScriptedReply = stage == .backingOff ? .status(503, headers: ["Retry-After": "30"]) : .silence
        network.on(.get, list, reply.always)
        let limiter = RateLimiter(.requests(1, per: .seconds(60)), time: clock)
        let service = Social.FriendsService(
            Social.client(
                ServerEnvironment(name: "social", baseURL: "https://social.test/api/v1"), appToken: "app", user: 1
            ) {
                scripted(network, clock)(&$0)
                $0.retry = .standard
                if stage == .inLine { $0.limiter = limiter }
            })
        if stage == .inLine { try await limiter.acquire() }
        try await clock.run {
            let load = Task(executorPreference: clock.executor) {
                if stage == .notBegun { withUnsafeCurrentTask { $0?.cancel() } }
                return await failure { () async throws(ServiceError) in try await service.friends() }
            }
            try await clock.sleep(for: .seconds(3))
            let sent = network.sent.count
            #expect(sent == (stage == .notBegun || stage == .inLine ? 0 : 1))
            let moment = clock.now
            load.cancel()
            #expect(await load.value == .cancelled)
            #expect(clock.now == moment)
            try await clock.sleep(for: .seconds(120))
            #expect(network.sent.count == sent)
        }
    }

    @Test("five loads in a second, and the sixth waits; one that is cancelled in line sends nothing")
    func inLine() async throws {
        network.on(.get, list, .json("[]").times(6))
        try await clock.run {
            let waiting = try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<5 { group.addTask { _ = try await service.friends() } }
                try await group.waitForAll()
                let waiting = Task(executorPreference: clock.executor) {
                    await failure { () async throws(ServiceError) in try await service.friends() }
                }
                try await clock.sleep(for: .milliseconds(500))
                waiting.cancel()
                return await waiting.value
            }
            #expect(waiting == .cancelled)
            #expect(network.sent.count == 5)
            _ = try await service.friends()
            #expect(network.sent.count == 6)
        }
    }
}
