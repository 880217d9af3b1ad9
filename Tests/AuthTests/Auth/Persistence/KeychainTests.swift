@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A session in the Keychain") struct KeychainTests {
    private let keychain = FakeKeychain(groups: ["TEAM.shared"])

    private func session(
        _ group: String? = nil, _ accessibility: KeychainAccessibility = .afterFirstUnlockThisDeviceOnly,
        time: any TimeSource = .system
    ) -> KeychainSession {
        let item = KeychainItem(service: "app", account: "me", accessGroup: group, accessibility: accessibility)
        return KeychainSession(keychain: keychain, item: item, shared: nil, lockTimeout: .seconds(10), time: time)
    }

    private func saved(_ access: String) -> SavedSession {
        SavedSession(id: UUID(), token: Token(accessToken: access), received: Date(timeIntervalSince1970: 0))
    }

    @Test("a session is added, replaced and removed")
    func life() async throws {
        #expect(try await session().load() == nil)
        for access in ["a", "b"] {
            let saved = saved(access)
            try await session().save(saved)
            #expect(try await session().load() == saved)
        }
        try await session().save(nil)
        #expect(try await session().load() == nil)
        try await session().save(nil)
    }

    @Test("another access group is another session")
    func groups() async throws {
        try await session("TEAM.shared").save(saved("shared"))
        try await session().save(saved("own"))
        #expect(try await session("TEAM.shared").load()?.token.accessToken == "shared")
        #expect(try await session().load()?.token.accessToken == "own")
    }

    @Test("only an item with an access group needs the data protection Keychain of macOS")
    func dataProtection() {
        #expect(session("TEAM.shared").item.needsDataProtection)
        #expect(!session().item.needsDataProtection)
    }

    @Test("a changed accessibility holds from the next save on", arguments: KeychainAccessibility.allCases)
    func accessibility(_ accessibility: KeychainAccessibility) async throws {
        try await session().save(saved("a"))
        try await session(nil, accessibility).save(saved("b"))
        #expect(keychain.accessibility(of: session().item) == accessibility)
    }

    @Test("an item that another process adds at the same moment is replaced")
    func duplicate() async throws {
        let other = saved("other")
        keychain.beforeAdd { keychain in
            let item = KeychainItem(service: "app", account: "me")
            _ = keychain.add(item, (try? JSONEncoder().encode(other)) ?? Data())
        }
        try await session().save(saved("mine"))
        #expect(try await session().load()?.token.accessToken == "mine")
    }

    @Test("data that is not a session is damaged, and the next sign-in replaces it")
    func damaged() async throws {
        _ = keychain.add(session().item, Data("?".utf8))
        let error = await #expect(throws: TokenPersistenceError.self) { try await session().load() }
        #expect(error?.kind == .damaged)
        try await session().save(saved("new"))
        #expect(try await session().load()?.token.accessToken == "new")
    }

    @Test(
        "a refusal says what to do, when reading, saving and removing",
        arguments: [
            (.interactionNotAllowed, .deviceLocked, "the device is locked; unlock it first"),
            (.missingEntitlement, .missingEntitlement, "Keychain Sharing"),
            (.authenticationFailed, .other, "the user denied access"),
            (.notAvailable, .other, "no Keychain is available"),
            (KeychainStatus(rawValue: -50), .other, "it answered -50"),
        ] as [(KeychainStatus, TokenPersistenceError.Kind, String)])
    func refusals(status: KeychainStatus, kind: TokenPersistenceError.Kind, words: String) async throws {
        try await session().save(saved("a"))
        keychain.refusal = status
        let errors = [
            await #expect(throws: TokenPersistenceError.self) { try await session().load() },
            await #expect(throws: TokenPersistenceError.self) { try await session().save(saved("b")) },
            await #expect(throws: TokenPersistenceError.self) { try await session().save(nil) },
        ]
        for error in errors {
            #expect(error?.kind == kind)
            #expect(error?.message.contains(words) == true)
        }
        keychain.refusal = nil
        #expect(try await session().load()?.token.accessToken == "a", "nothing has changed")
    }

    @Test("an access group that the entitlements do not list is named")
    func foreignGroup() async {
        let error = await #expect(throws: TokenPersistenceError.self) { try await session("TEAM.other").load() }
        #expect(error?.kind == .missingEntitlement)
        #expect(error?.message.contains("TEAM.other") == true)
    }

    @Test("a locked device signs no user out: the call fails for now, and the next one reads again")
    func locked() async throws {
        let clock = TestClock()
        try await session().save(saved("ann"))
        keychain.refusal = .interactionNotAllowed
        let tokens = TokenStore(persistence: session(time: clock), time: clock) { $0 }
        try await clock.runTest {
            let error = await #expect(throws: ServiceError.self) { try await tokens.token() }
            guard case .transport(let failure) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(failure.kind == .storage)
            #expect(error?.isTransient == true)
            keychain.refusal = nil
            let token = try await tokens.token()
            #expect(token.accessToken == "ann")
        }
    }

    @Test("processes that share a lock wait for each other: a second one waits, and fails in the end")
    func sharedLock() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let item = KeychainItem(service: "app", account: "me")
        let lock = PrivateFile(path: folder.path + "/session")
        let (first, second) = (
            KeychainSession(keychain: keychain, item: item, shared: lock, lockTimeout: .seconds(10)),
            KeychainSession(keychain: keychain, item: item, shared: lock, lockTimeout: .zero)
        )
        try await first.exclusively { _ in
            let error = await #expect(throws: TokenPersistenceError.self) { try await second.exclusively { _ in } }
            #expect(error?.kind == .locked)
        }
        try await second.exclusively { _ in }
    }
}
