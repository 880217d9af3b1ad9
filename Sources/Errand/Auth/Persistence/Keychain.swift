#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The name of an item in the Keychain, and who may read it when.
struct KeychainItem: Sendable, Hashable {
    var service: String
    var account: String
    /// `nil`: the program's own group.
    var accessGroup: String?
    var accessibility = KeychainAccessibility.afterFirstUnlockThisDeviceOnly

    /// Whether the item has to be in the Keychain with access groups. On macOS, another one is the default, which
    /// programs without entitlements can use.
    var needsDataProtection: Bool { accessGroup != nil }
}

/// When a session in the Keychain can be read.
///
/// A session that can be read only while the device is unlocked is of no use to an app that the system wakes in the
/// background. One that is not of this device only travels with backups to the user's next device; with a refresh token
/// that is replaced at each use, only one of the two devices then stays signed in.
@nonexhaustive public enum KeychainAccessibility: Sendable, Hashable, CaseIterable {
    /// Once the user has unlocked the device after a start, on this device only: the default.
    case afterFirstUnlockThisDeviceOnly
    /// Once the user has unlocked the device after a start.
    case afterFirstUnlock
    /// While the device is unlocked, on this device only.
    case whenUnlockedThisDeviceOnly
    /// While the device is unlocked.
    case whenUnlocked
}

/// What the Keychain answers, by the numbers of the Security framework, which Linux does not have.
struct KeychainStatus: RawRepresentable, Sendable, Hashable {
    let rawValue: Int32

    static let success = KeychainStatus(rawValue: 0)
    static let notAvailable = KeychainStatus(rawValue: -25291)
    static let authenticationFailed = KeychainStatus(rawValue: -25293)
    static let duplicateItem = KeychainStatus(rawValue: -25299)
    static let itemNotFound = KeychainStatus(rawValue: -25300)
    static let interactionNotAllowed = KeychainStatus(rawValue: -25308)
    static let missingEntitlement = KeychainStatus(rawValue: -34018)
}

/// The functions of the Keychain that a session needs: the system's or, in a test, those of a dictionary. They block.
protocol Keychain: Sendable {
    func read(_ item: KeychainItem) -> (status: KeychainStatus, data: Data?)
    func add(_ item: KeychainItem, _ data: Data) -> KeychainStatus
    /// Replaces the data of the item, and when it can be read.
    func update(_ item: KeychainItem, _ data: Data) -> KeychainStatus
    func delete(_ item: KeychainItem) -> KeychainStatus
}
