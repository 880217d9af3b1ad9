// Declarations of Apple's, without a behavior: see Tests/AppleStubs/README.md.
// swift-format-ignore-file

@_exported public import CoreFoundation

// https://developer.apple.com/documentation/kernel/osstatus
public typealias OSStatus = Int32

// https://developer.apple.com/documentation/security/sectrust
public final class SecTrust {}
