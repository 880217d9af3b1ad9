// Declarations of Apple's, without a behavior: see Tests/AppleStubs/README.md.
// swift-format-ignore-file

// https://developer.apple.com/documentation/security/keychain-items
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { 0 }
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { 0 }
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus { 0 }
public func SecItemDelete(_ query: CFDictionary) -> OSStatus { 0 }

// https://developer.apple.com/documentation/security/item-class-keys-and-values
public let kSecClass: CFString = "class"
public let kSecClassGenericPassword: CFString = "genp"

// https://developer.apple.com/documentation/security/item-attribute-keys-and-values
public let kSecAttrService: CFString = "svce"
public let kSecAttrAccount: CFString = "acct"
public let kSecAttrAccessGroup: CFString = "agrp"
public let kSecAttrAccessible: CFString = "pdmn"
public let kSecAttrAccessibleWhenUnlocked: CFString = "ak"
public let kSecAttrAccessibleAfterFirstUnlock: CFString = "ck"
public let kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString = "aku"
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "cku"

// https://developer.apple.com/documentation/security/item-return-result-keys
public let kSecReturnData: CFString = "r_Data"
public let kSecValueData: CFString = "v_Data"

// https://developer.apple.com/documentation/security/ksecusedataprotectionkeychain
public let kSecUseDataProtectionKeychain: CFString = "nleg"

// https://developer.apple.com/documentation/security/security-framework-result-codes
public var errSecSuccess: OSStatus { 0 }
public var errSecItemNotFound: OSStatus { -25300 }
