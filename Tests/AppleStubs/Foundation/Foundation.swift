// Declarations of Apple's, without a behavior: see Tests/AppleStubs/README.md.
// swift-format-ignore-file

// What Foundation has on Apple's platforms beyond FoundationEssentials, as far as this package uses it.
@_exported public import CoreFoundation
@_exported public import Darwin
@_exported public import Dispatch
@_exported public import FoundationEssentials
@_exported public import Security

// https://developer.apple.com/documentation/objectivec/nsobjectprotocol
public protocol NSObjectProtocol: AnyObject {}

// https://developer.apple.com/documentation/objectivec/nsobject-swift.class
open class NSObject: NSObjectProtocol {
    public init() {}
}

// https://developer.apple.com/documentation/swift/error/localizeddescription
extension Error {
    public var localizedDescription: String { "" }
}

// https://developer.apple.com/documentation/foundation/operationqueue
open class OperationQueue: NSObject, @unchecked Sendable {
    open var maxConcurrentOperationCount = 0
}

// https://developer.apple.com/documentation/foundation/inputstream
open class InputStream: NSObject {}

// https://developer.apple.com/documentation/foundation/nslocalizedfailurereasonerrorkey
public let NSLocalizedFailureReasonErrorKey = "NSLocalizedFailureReason"
// https://developer.apple.com/documentation/foundation/nsdebugdescriptionerrorkey
public let NSDebugDescriptionErrorKey = "NSDebugDescription"
