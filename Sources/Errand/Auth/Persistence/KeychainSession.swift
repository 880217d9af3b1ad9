#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A session in a Keychain, whichever that is.
///
/// The Keychain is another process, which may be slow, and its functions block. So they are called on threads of their
/// own. What has begun there is finished, even if the task is canceled.
struct KeychainSession: TokenPersistence {
    let keychain: any Keychain
    let item: KeychainItem
    /// A file beside which processes that share the item lock each other out; `nil` if none do.
    let shared: PrivateFile?
    let lockTimeout: Duration
    var time: any TimeSource = .system

    /// Returns the saved session; `nil` if there is none.
    func load() async throws(TokenPersistenceError) -> SavedSession? {
        try await DiskThreads.finish(by: time, at: place, on: .keychain) { () throws(TokenPersistenceError) in
            try read()
        }
    }

    /// Saves the session, or removes the saved one.
    func save(_ session: SavedSession?) async throws(TokenPersistenceError) {
        try await DiskThreads.finish(by: time, at: place, on: .keychain) { () throws(TokenPersistenceError) in
            try write(session)
        }
    }

    /// Saves the session, or removes the saved one, if that version of a session is saved.
    func replace(
        _ version: SavedSession.Version, with session: SavedSession?
    ) async throws(TokenPersistenceError) -> Bool {
        try await DiskThreads.finish(by: time, at: place, on: .keychain) { () throws(TokenPersistenceError) in
            guard try read()?.version == version else { return false }
            try write(session)
            return true
        }
    }

    /// Each service counts as a folder.
    private var place: String { "\(item.service)/\(item.account)" }

    private func read() throws(TokenPersistenceError) -> SavedSession? {
        let (status, data) = keychain.read(item)
        switch status {
        case .success:
            // The reason is lost, and does not matter: the data is not a saved session.
            guard let data, let session = try? JSONDecoder().decode(SavedSession.self, from: data) else {
                throw TokenPersistenceError(.damaged, "the session in the Keychain is damaged")
            }
            return session
        case .itemNotFound: return nil
        default: throw failure(status, "read from")
        }
    }

    private func write(_ session: SavedSession?) throws(TokenPersistenceError) {
        guard let session else {
            let status = keychain.delete(item)
            guard status == .success || status == .itemNotFound else { throw failure(status, "removed from") }
            return
        }
        let data: Data
        do {
            data = try JSONEncoder().encode(session)
        } catch {
            throw TokenPersistenceError(.other, "the session cannot be encoded")
        }
        var status = keychain.update(item, data)
        if status == .itemNotFound { status = keychain.add(item, data) }
        // Another process has added the item between the two.
        if status == .duplicateItem { status = keychain.update(item, data) }
        guard status == .success else { throw failure(status, "saved in") }
    }

    /// Runs `body` while no other process that shares the lock does.
    func exclusively(_ body: @Sendable (SessionLock) async -> Void) async throws(TokenPersistenceError) {
        guard let shared else { return await body(SessionLock()) }
        try await shared.exclusively(within: lockTimeout, body)
    }

    private func failure(_ status: KeychainStatus, _ verb: String) -> TokenPersistenceError {
        let advice: (kind: TokenPersistenceError.Kind, words: String) =
            switch status {
            case .interactionNotAllowed:
                (.deviceLocked, "the device is locked; unlock it first")
            case .missingEntitlement:
                (
                    .missingEntitlement,
                    "the program lacks the entitlement for "
                        + (item.accessGroup.map { "the access group \($0)" } ?? "the Keychain")
                        + "; add the capability Keychain Sharing, and sign the program"
                )
            case .authenticationFailed: (.other, "the user denied access")
            case .notAvailable: (.other, "no Keychain is available")
            default: (.other, "it answered \(status.rawValue)")
            }
        return TokenPersistenceError(
            advice.kind, "the session cannot be \(verb) the Keychain: \(advice.words)")
    }
}
