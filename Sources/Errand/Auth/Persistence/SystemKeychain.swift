#if canImport(Security)
import Foundation
import Security

/// The Keychain of Apple's platforms.
struct SystemKeychain: Keychain {
    func read(_ item: KeychainItem) -> (status: KeychainStatus, data: Data?) {
        var found: CFTypeRef?
        let search = query(item).merging([kSecReturnData: true]) { $1 }
        let status = SecItemCopyMatching(search as CFDictionary, &found)
        return (KeychainStatus(rawValue: status), found as? Data)
    }

    func add(_ item: KeychainItem, _ data: Data) -> KeychainStatus {
        let attributes = query(item).merging(content(item, data)) { $1 }
        return KeychainStatus(rawValue: SecItemAdd(attributes as CFDictionary, nil))
    }

    func update(_ item: KeychainItem, _ data: Data) -> KeychainStatus {
        KeychainStatus(
            rawValue: SecItemUpdate(query(item) as CFDictionary, content(item, data) as CFDictionary))
    }

    func delete(_ item: KeychainItem) -> KeychainStatus {
        KeychainStatus(rawValue: SecItemDelete(query(item) as CFDictionary))
    }

    private func query(_ item: KeychainItem) -> [CFString: Any] {
        var query: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: item.service, kSecAttrAccount: item.account,
        ]
        if let accessGroup = item.accessGroup { query[kSecAttrAccessGroup] = accessGroup }
        if item.needsDataProtection { query[kSecUseDataProtectionKeychain] = true }
        return query
    }

    private func content(_ item: KeychainItem, _ data: Data) -> [CFString: Any] {
        [kSecValueData: data, kSecAttrAccessible: item.accessibility.attribute]
    }
}

extension KeychainAccessibility {
    fileprivate var attribute: CFString {
        switch self {
        case .afterFirstUnlockThisDeviceOnly: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
        case .afterFirstUnlock: kSecAttrAccessibleAfterFirstUnlock
        case .whenUnlockedThisDeviceOnly: kSecAttrAccessibleWhenUnlockedThisDeviceOnly
        case .whenUnlocked: kSecAttrAccessibleWhenUnlocked
        }
    }
}
#endif
