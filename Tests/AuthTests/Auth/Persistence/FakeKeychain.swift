@testable import Errand
import ErrandTestSupport
import Foundation

/// A Keychain in memory, which answers as Apple documents it, and can be made to refuse.
final class FakeKeychain: Keychain {
    private struct Entry {
        var data: Data
        var accessibility: KeychainAccessibility
    }

    private struct State {
        var entries: [KeychainItem: Entry] = [:]
        var refusal: KeychainStatus?
        var beforeAdd: (@Sendable (FakeKeychain) -> Void)?
        var beforeEach: (@Sendable () -> Void)?
    }

    private let groups: Set<String>
    private let state = Lock(State())

    /// Creates a Keychain for a program whose entitlements list those access groups.
    init(groups: Set<String> = []) {
        self.groups = groups
    }

    /// The status of each call, until it is `nil`.
    var refusal: KeychainStatus? {
        get { state.withLock { $0.refusal } }
        set { state.withLock { $0.refusal = newValue } }
    }

    /// Runs `action` once, between the decision to add an item and the adding.
    func beforeAdd(_ action: @escaping @Sendable (FakeKeychain) -> Void) {
        state.withLock { $0.beforeAdd = action }
    }

    /// Runs `action` before each call, which takes as long as the action does.
    func beforeEach(_ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.beforeEach = action }
    }

    /// When the item can be read; `nil` if there is none.
    func accessibility(of item: KeychainItem) -> KeychainAccessibility? {
        state.withLock { $0.entries[item.key]?.accessibility }
    }

    func read(_ item: KeychainItem) -> (status: KeychainStatus, data: Data?) {
        if let refusal = refusal(for: item) { return (refusal, nil) }
        guard let entry = state.withLock({ $0.entries[item.key] }) else { return (.itemNotFound, nil) }
        return (.success, entry.data)
    }

    func add(_ item: KeychainItem, _ data: Data) -> KeychainStatus {
        if let refusal = refusal(for: item) { return refusal }
        state.withLock { $0.beforeAdd.take() }?(self)
        return state.withLock { state in
            guard state.entries[item.key] == nil else { return .duplicateItem }
            state.entries[item.key] = Entry(data: data, accessibility: item.accessibility)
            return .success
        }
    }

    func update(_ item: KeychainItem, _ data: Data) -> KeychainStatus {
        if let refusal = refusal(for: item) { return refusal }
        return state.withLock { state in
            guard state.entries[item.key] != nil else { return .itemNotFound }
            state.entries[item.key] = Entry(data: data, accessibility: item.accessibility)
            return .success
        }
    }

    func delete(_ item: KeychainItem) -> KeychainStatus {
        if let refusal = refusal(for: item) { return refusal }
        return state.withLock { $0.entries.removeValue(forKey: item.key) == nil ? .itemNotFound : .success }
    }

    private func refusal(for item: KeychainItem) -> KeychainStatus? {
        state.withLock { $0.beforeEach }?()
        if let group = item.accessGroup, !groups.contains(group) { return .missingEntitlement }
        return refusal
    }
}

extension KeychainItem {
    /// The item without what does not identify it.
    fileprivate var key: KeychainItem {
        KeychainItem(service: service, account: account, accessGroup: accessGroup)
    }
}
