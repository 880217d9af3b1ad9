import Errand
import ErrandFleet
import ErrandSimulation
import ErrandTestSupport
import Foundation
import Testing

/// A process that shares a session: a `TokenSharer`.
private final class FleetProcess: Sendable {
    private let process: Subprocess

    init(_ arguments: [String]) throws {
        let neighbours = CommandLine.arguments.prefix(1) + Bundle.allBundles.map(\.bundlePath)
        let places = neighbours.map {
            URL(fileURLWithPath: $0).deletingLastPathComponent().appendingPathComponent("TokenSharer")
        }
        let program = try #require(places.first { FileManager.default.isExecutableFile(atPath: $0.path) })
        process = try Subprocess(program.path, ["fleet"] + arguments)
    }

    /// Waits until it has the first token.
    func isReady() async throws {
        _ = try await Subprocess.waiting { [process] in process.output.availableData }
    }

    func go() { process.input.write(Data("go\n".utf8)) }
    func kill() { process.stop() }
    func suspend() { process.suspend() }
    func resume() { process.resume() }

    /// Waits for the end, and returns what it has printed since it was ready.
    func end() async throws -> String {
        let said = try await process.outcome().said
        return String(decoding: said, as: UTF8.self).split(separator: "\n").last.map(String.init) ?? ""
    }
}

/// A server with the tokens of ``RotatingServer``.
private final class TokenServer: Sendable {
    private static let usualDelay = Duration.milliseconds(100)
    let loopback: LoopbackServer
    let tokens = RotatingServer()
    private let delay: Lock<Duration>

    /// Creates a server that sends a token after `delay`.
    init(tokenAfter delay: Duration = usualDelay) throws {
        loopback = try LoopbackServer()
        self.delay = Lock(delay)
        loopback.on(.post, "/token") { [weak self] request in self?.answer(request) ?? .close }
    }

    /// From now on, sends tokens after the usual delay.
    func hurry() {
        delay.withLock { $0 = Self.usualDelay }
    }

    private func answer(_ request: LoopbackRequest) -> LoopbackReply {
        struct Question: Decodable { var refresh: String }
        let refresh = try? JSONDecoder().decode(Question.self, from: request.body).refresh
        guard let next = try? tokens.refresh(Token(accessToken: "", refreshToken: refresh)) else {
            return .json(#"{"error":"invalid_grant"}"#, status: 400)
        }
        let answer = #"{"access":"\#(next.accessToken)","refresh":"\#(next.refreshToken ?? "")"}"#
        return .json(answer).after(delay.withLock { $0 })
    }
}

@Suite("Processes that share a session in a fleet's store", .timeLimit(.minutes(10)))
struct FleetProcessTests {
    /// How long the others wait for a process that has died, in milliseconds.
    private static let lifetime = 1000
    private let scratch: Scratch
    private let server: TokenServer
    private let key: FleetKey

    init() throws {
        scratch = try Scratch()
        server = try TokenServer()
        key = try FleetKey(id: "k1")
    }

    /// Starts processes that all have the first token.
    private func processes(
        _ count: Int, in folder: String, of server: TokenServer, lifetime: Int = lifetime
    ) async throws -> [FleetProcess] {
        let store = FileFleetStore(folder: folder)
        let sessions = FleetSessions(in: store, under: "errand/test", name: "api", key: key)
        try await sessions.save(SavedSession(id: UUID(), token: RotatingServer.first, received: Date()))
        let processes = try (0..<count).map { _ in
            try FleetProcess(
                [
                    folder, key.rawRepresentation.base64EncodedString(), server.loopback.baseURL, "\(lifetime)",
                ])
        }
        for process in processes { try await process.isReady() }
        return processes
    }

    @Test("F6: twenty processes on an expired token: one refresh")
    func once() async throws {
        let processes = try await processes(20, in: scratch.path("fleet"), of: server, lifetime: 600_000)
        for process in processes { process.go() }
        for process in processes { #expect(try await process.end() == "access.1") }
        #expect(server.tokens.refreshes == 1)
        #expect(server.tokens.refusals == 0)
    }

    @Test(
        "F6: processes that are killed or stopped leave the session, or one clear sign-in",
        arguments: [true, false])
    func interrupted(isKill: Bool) async throws {
        var interrupted = 0
        // In the first round the refresh takes seconds, so that a slow machine finds it under way as well. The others
        // end at random moments, and on a busy machine a process may lose its lifetime of a second.
        for round in 0..<(LongRun.isWanted ? 8 : 1) {
            let lifetime = round == 0 ? 5 * Self.lifetime : Self.lifetime
            let server = round == 0 ? try TokenServer(tokenAfter: .milliseconds(2 * lifetime)) : try TokenServer()
            let processes = try await processes(5, in: scratch.path("\(round)"), of: server, lifetime: lifetime)
            let record = try await Watched(FileFleetStore(folder: scratch.path("\(round)")))
            // These go first, so that the one that refreshes is among them.
            let victims = processes.prefix(3)
            for victim in victims { victim.go() }
            try await record.changes()
            for process in processes.dropFirst(3) { process.go() }
            try await Task.sleep(for: .milliseconds(6 * round))
            for victim in victims { isKill ? victim.kill() : victim.suspend() }
            server.hurry()
            if try await record.hasOneChange() { interrupted += 1 }
            if !isKill {
                try await Task.sleep(for: .milliseconds(3 * lifetime))
                for victim in victims { victim.resume() }
            }
            var said: [String] = []
            for process in isKill ? processes.dropFirst(3) : processes[...] { said.append(try await process.end()) }
            if isKill { for victim in victims { _ = try await victim.end() } }
            // A process may end with the new token before the session ends by another.
            #expect(said.allSatisfy { $0 == "access.1" || $0 == "sign-in" }, "round \(round): \(said)")
            #expect(server.tokens.refreshes == 1, "round \(round)")
            if server.tokens.refusals == 0 { #expect(!said.contains("sign-in"), "round \(round): \(said)") }
            let sessions = FleetSessions(
                in: FileFleetStore(folder: scratch.path("\(round)")), under: "errand/test", name: "api", key: key)
            let saved = try await sessions.load()?.token.accessToken
            #expect(saved == (said.contains("sign-in") ? nil : "access.1"), "round \(round): \(said)")
        }
        #expect(interrupted > 0, "no refresh was under way")
    }

    /// The record of the session, which only the mark has changed while a refresh is under way.
    private struct Watched {
        private static let key = "errand/test/sessions/api"
        private let store: FileFleetStore
        private let first: FleetRevision

        init(_ store: FileFleetStore) async throws {
            self.store = store
            first = try #require(try await store.read(Self.key)).revision
        }

        /// Waits for a change.
        func changes() async throws {
            for try await record in store.changes(of: Self.key) where record?.revision != first { return }
        }

        func hasOneChange() async throws -> Bool {
            try await store.read(Self.key)?.revision.number == first.number + 1
        }
    }
}
