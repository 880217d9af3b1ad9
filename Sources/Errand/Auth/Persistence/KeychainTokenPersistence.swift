#if canImport(Security)
public import Foundation
import Security

/// Saves the session in the Keychain of Apple's platforms.
public struct KeychainTokenPersistence: TokenPersistence {
    private let query: @Sendable () -> [CFString: Any]

    /// Creates a persistence for that service and account.
    public init(service: String, account: String = "session") {
        query = {
            [kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: account]
        }
    }

    /// Returns the saved session; `nil` if there is none.
    public func load() throws -> SavedSession? {
        var found: CFTypeRef?
        let search = query().merging([kSecReturnData: true]) { $1 }
        switch SecItemCopyMatching(search as CFDictionary, &found) {
        case errSecSuccess:
            // The reason is lost, and does not matter: the data is not a saved session.
            guard let data = found as? Data, let session = try? JSONDecoder().decode(SavedSession.self, from: data)
            else {
                throw TokenPersistenceError(.damaged, "the session in the Keychain is damaged")
            }
            return session
        case errSecItemNotFound: return nil
        case let status: throw TokenPersistenceError(.other, "the Keychain answered \(status)")
        }
    }

    /// Saves the session, or removes the saved one.
    public func save(_ session: SavedSession?) throws {
        guard let session else {
            let status = SecItemDelete(query() as CFDictionary)
            guard status == errSecSuccess || status == errSecItemNotFound else {
                throw TokenPersistenceError(.other, "the Keychain answered \(status)")
            }
            return
        }
        let data = try JSONEncoder().encode(session)
        let change = [kSecValueData: data] as CFDictionary
        var status = SecItemUpdate(query() as CFDictionary, change)
        if status == errSecItemNotFound {
            let item = query().merging([
                kSecValueData: data, kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            ]) { $1 }
            status = SecItemAdd(item as CFDictionary, nil)
        }
        guard status == errSecSuccess else {
            throw TokenPersistenceError(.other, "the Keychain answered \(status)")
        }
    }
}
#endif
