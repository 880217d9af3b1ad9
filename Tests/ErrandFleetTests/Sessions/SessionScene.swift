import Errand
import ErrandFleet
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// A server that replaces refresh tokens, and takes the second use of one for theft: then it refuses all of them.
final class RotatingServer: Sendable {
    private struct State {
        var issued = 0
        var refreshes = 0
        var refusals = 0
        var isRevoked = false
    }

    private let state = Lock(State())

    static let first = Token(accessToken: "access.0", refreshToken: "refresh.0")

    /// How many tokens it has replaced.
    var refreshes: Int { state.withLock { $0.refreshes } }
    /// How many refresh tokens it has refused.
    var refusals: Int { state.withLock { $0.refusals } }

    func refresh(_ old: Token) throws(ServiceError) -> Token {
        let next: Int? = state.withLock { state in
            guard !state.isRevoked, old.refreshToken == "refresh.\(state.issued)" else {
                state.isRevoked = true
                state.refusals += 1
                return nil
            }
            state.issued += 1
            state.refreshes += 1
            return state.issued
        }
        guard let next else { throw .rejected(Rejection(status: 400, code: "invalid_grant")) }
        return Token(accessToken: "access.\(next)", refreshToken: "refresh.\(next)")
    }
}

/// The way to that server.
private struct RotatingTransport: Transport {
    let server: RotatingServer
    let time: any TimeSource

    func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        // As on a network, others can run between the request and the response.
        try await time.sleep(until: time.now.advanced(by: .milliseconds(20)), in: StopScope<FleetStoreError>())
        let old = Token(accessToken: "", refreshToken: String(decoding: request.body?.bytes ?? Data(), as: UTF8.self))
        guard let token = try? server.refresh(old) else {
            return HTTPResponse(status: 400, headers: [:], body: .bytes(Data(#"{"error":"invalid_grant"}"#.utf8)))
        }
        return HTTPResponse(
            status: 200, headers: [:], body: .bytes(Data(token.accessToken.dropFirst("access.".count).utf8)))
    }

    func shutdown() async {}
    var connectivity: Connectivity { .always }
}

/// A point at which a node can be stopped: it counts the steps of the node, and holds it at one of them.
final class Gate: Sendable {
    private struct State {
        var steps = 0
        var isOpen = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let step: Int?
    private let state = Lock(State())

    /// Creates a gate that holds the node at that step and all later ones; at none, if it is `nil`.
    init(at step: Int? = nil) {
        self.step = step
    }

    /// The number of steps so far.
    var steps: Int { state.withLock { $0.steps } }
    /// Whether the node is held.
    var isHolding: Bool { state.withLock { !$0.waiters.isEmpty } }

    func pass() async {
        await withCheckedContinuation { continuation in
            let mayPass = state.withLock { state in
                state.steps += 1
                guard let step, state.steps >= step, !state.isOpen else { return true }
                state.waiters.append(continuation)
                return false
            }
            if mayPass { continuation.resume() }
        }
    }

    /// Lets the node go on.
    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            return state.waiters.take()
        }
        for waiter in waiters { waiter.resume() }
    }
}

extension Array {
    fileprivate mutating func take() -> Array {
        defer { self = [] }
        return self
    }
}

/// A store that fails as told, around one that does not.
final class FaultyStore: FleetStore {
    enum Fault: Sendable, Hashable {
        /// The answer of a write is lost after it was made.
        case loseAnswer
        /// Something on the way sends a write twice, and passes on the second answer.
        case repeatWrite
        /// A write does not arrive.
        case loseWrite
        /// Nothing can be reached.
        case unreachable
        /// A write ends with that error, before or after it is made.
        case error(FleetStoreError.Kind, isMade: Bool)
    }

    private let store: any FleetStore
    private let gate: Gate
    private let isMute: Bool
    private let faults = Lock<[Fault]>([])
    private let readFaults = Lock<[FleetStoreError.Kind]>([])
    private let refusal = Lock<FleetStoreError?>(nil)
    private let isCut = Lock(false)
    private let cutAfterWrite = Lock(false)

    /// Creates a store; one that is mute reports no changes.
    init(_ store: any FleetStore, gate: Gate = Gate(), isMute: Bool = false) {
        self.store = store
        self.gate = gate
        self.isMute = isMute
    }

    /// Has the next writes fail, one after the other.
    func failWrites(_ next: Fault...) {
        faults.withLock { $0 = next }
    }

    /// Has the next reads fail, one after the other.
    func failReads(_ next: FleetStoreError.Kind...) {
        readFaults.withLock { $0 = next }
    }

    /// Has everything fail with that error, from now on.
    func refuse(_ error: FleetStoreError) {
        refusal.withLock { $0 = error }
    }

    /// Cuts the connection, or restores it.
    func cut(_ isCut: Bool = true) {
        self.isCut.withLock { $0 = isCut }
    }

    /// Cuts the connection as soon as a write was made.
    func cutAfterNextWrite() {
        cutAfterWrite.withLock { $0 = true }
    }

    private func check() throws(FleetStoreError) {
        if isCut.withLock({ $0 }) { throw FleetStoreError(.unreachable, "the connection was cut") }
        if let refusal = refusal.withLock({ $0 }) { throw refusal }
    }

    func read(_ key: String) async throws(FleetStoreError) -> FleetRecord? {
        await gate.pass()
        try check()
        let fault: FleetStoreError.Kind? = readFaults.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        if let fault { throw FleetStoreError(fault, "the read has failed") }
        let record = try await store.read(key)
        await gate.pass()
        return record
    }

    func write(
        _ bytes: [UInt8]?, to key: String, replacing revision: FleetRevision?
    ) async throws(FleetStoreError) -> FleetWrite {
        await gate.pass()
        try check()
        let fault = faults.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        if fault == .loseWrite || fault == .unreachable { throw FleetStoreError(.unreachable, "the write was lost") }
        if case .error(let kind, isMade: false)? = fault { throw FleetStoreError(kind, "the write has failed") }
        if fault == .repeatWrite { _ = try await store.write(bytes, to: key, replacing: revision) }
        let written = try await store.write(bytes, to: key, replacing: revision)
        if case .error(let kind, isMade: true)? = fault { throw FleetStoreError(kind, "the answer is of no use") }
        if fault == .loseAnswer { throw FleetStoreError(.unreachable, "the answer was lost") }
        await gate.pass()
        // The write was made, but nobody learns of it.
        if Task.isCancelled { throw .cancelled }
        cutAfterWrite.withLock { cut in
            if cut { isCut.withLock { $0 = true } }
            cut = false
        }
        return written
    }

    func changes(of key: String) -> AsyncThrowingStream<FleetRecord?, any Error> {
        guard isMute else { return store.changes(of: key) }
        return AsyncThrowingStream { _ in }
    }
}

/// Nodes that share a session.
struct SessionScene: Sendable {
    static let lifetime = Duration.seconds(30)

    let store: any FleetStore
    let time: any TimeSource
    let server = RotatingServer()
    let key: FleetKey

    init(_ store: any FleetStore = MemoryFleetStore(), time: any TimeSource = .system) throws {
        self.store = store
        self.time = time
        key = try FleetKey(id: "k1", rawRepresentation: Data(repeating: 7, count: 32))
    }

    func sessions(
        _ name: String = "api", in other: (any FleetStore)? = nil, key: FleetKey? = nil, oldKeys: [FleetKey] = [],
        lifetime: Duration = lifetime, time: (any TimeSource)? = nil
    ) -> FleetSessions {
        FleetSessions(
            in: other ?? store, under: "errand/test", name: name, key: key ?? self.key, oldKeys: oldKeys,
            lifetime: lifetime, time: time ?? self.time)
    }

    /// Creates the token store of a node.
    func node(
        in other: (any FleetStore)? = nil, gate: Gate = Gate(), time: (any TimeSource)? = nil
    ) -> TokenStore {
        let time = time ?? self.time
        let client = APIClient("https://token.test") {
            $0.transport = RotatingTransport(server: server, time: time)
            $0.time = time
            $0.rateLimit = .unlimited
            $0.retry = .never
        }
        return TokenStore(persistence: sessions(in: other, time: time), time: time) { old in
            await gate.pass()
            let answer = try await client.run(
                Endpoint<Data>.post(
                    "token", body: .data(Data((old.refreshToken ?? "").utf8), contentType: "text/plain")))
            await gate.pass()
            let number = String(decoding: answer, as: UTF8.self)
            return Token(accessToken: "access.\(number)", refreshToken: "refresh.\(number)")
        }
    }

    /// Saves the first session.
    func seed() async throws {
        let session = SavedSession(id: UUID(), token: RotatingServer.first, received: time.date)
        try await sessions().save(session)
    }

    /// Checks that ten nodes refresh the session once, and that an idle one learns of the new token by itself.
    func expectOneRefresh(in store: () -> any FleetStore) async throws {
        try await seed()
        let idle = node(in: store())
        var events = idle.events.makeAsyncIterator()
        #expect(try await idle.token().accessToken == "access.0")
        let nodes = (0..<10).map { _ in node(in: store()) }
        for node in nodes { _ = try await node.token() }
        let tokens = await withTaskGroup { group in
            for node in nodes { group.addTask { await Self.replacement(in: node) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tokens == Array(repeating: .success("access.1"), count: 10))
        #expect(server.refreshes == 1)
        while let event = await events.next() { if case .refreshed = event { break } }
        #expect(try await idle.token().accessToken == "access.1")
    }

    /// Returns the token that replaces the first one, or the error.
    static func replacement(in tokens: TokenStore) async -> Result<String, ServiceError> {
        await Result { () async throws(ServiceError) in
            try await tokens.replacement(for: RotatingServer.first).accessToken
        }
    }
}

/// Returns the kind of error that a persistence threw; `nil` if it threw none.
func sessionProblem<Value>(_ body: () async throws -> Value) async -> TokenPersistenceError.Kind? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? TokenPersistenceError)?.kind
    }
}
