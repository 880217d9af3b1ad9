import Dispatch
@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A slow Keychain", .timeLimit(.minutes(10))) struct SlowKeychainTests {
    private let keychain = FakeKeychain()
    private let gate = DispatchSemaphore(value: 0)
    private let begun: AsyncStream<Void>
    private let session: KeychainSession
    private let saved = SavedSession(
        id: UUID(), token: Token(accessToken: "a"), received: Date(timeIntervalSince1970: 0))

    init() {
        let (begun, news) = AsyncStream.makeStream(of: Void.self)
        self.begun = begun
        session = KeychainSession(
            keychain: keychain, item: KeychainItem(service: "app", account: "me"), shared: nil,
            lockTimeout: .seconds(10))
        keychain.beforeEach { [gate] in
            news.yield()
            gate.wait()
        }
    }

    /// Waits until the Keychain has been asked, whose call has not ended.
    private func untilAsked() async {
        for await _ in begun { return }
    }

    @Test("it is asked on threads that no task uses")
    func threads() async throws {
        let tasks = Lock(0)
        keychain.beforeEach {
            if withUnsafeCurrentTask(body: { $0 != nil }) { tasks.withLock { $0 += 1 } }
        }
        try await session.save(saved)
        #expect(try await session.load() == saved)
        try await session.save(nil)
        #expect(tasks.withLock { $0 } == 0)
    }

    @Test("it keeps no other task from running, however many wait for it")
    func besideTasks() async {
        await withTaskGroup { group in
            // As many as there may be threads for tasks, and more.
            for _ in 0..<8 { group.addTask { _ = try? await session.load() } }
            await untilAsked()
            for _ in 0..<8 { group.addTask { _ = gate.signal() } }
        }
    }

    @Test("a call is signed while it saves the session")
    func calls() async throws {
        let tokens = TokenStore(persistence: session)
        async let signedIn: Void = tokens.signIn(Token(accessToken: "a"))
        await untilAsked()
        gate.signal()
        // The Keychain has no item that could be replaced; now one is added.
        await untilAsked()
        let token = try await tokens.token()
        #expect(token.accessToken == "a")
        gate.signal()
        await signedIn
    }

    @Test("a load or a save whose task is cancelled is finished all the same")
    func cancelled() async throws {
        let saving = Task { try await session.save(saved) }
        await untilAsked()
        saving.cancel()
        gate.signal()
        await untilAsked()
        gate.signal()
        try await saving.value
        let loading = Task { try await session.load() }
        await untilAsked()
        loading.cancel()
        gate.signal()
        #expect(try await loading.value == saved)
    }

    @Test("a cancelled sign-in returns at once, and the session is saved later")
    func cancelledSignIn() async throws {
        let tokens = TokenStore(persistence: session)
        let signingIn = Task { await tokens.signIn(Token(accessToken: "a")) }
        await untilAsked()
        signingIn.cancel()
        await signingIn.value
        #expect(keychain.accessibility(of: session.item) == nil, "nothing is saved yet")
        gate.signal()
        await untilAsked()
        async let next: Void = tokens.signIn(Token(accessToken: "b"))
        gate.signal()
        // The next save begins when this one has ended.
        await untilAsked()
        #expect(keychain.accessibility(of: session.item) != nil)
        gate.signal()
        await next
    }
}
