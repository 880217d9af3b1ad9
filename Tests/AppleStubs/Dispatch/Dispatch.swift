// Declarations of Apple's, without a behavior: see Tests/AppleStubs/README.md.
// swift-format-ignore-file

// https://developer.apple.com/documentation/dispatch/dispatchqueue
open class DispatchQueue: @unchecked Sendable {
    public init(label: String) {}
    public class var main: DispatchQueue { DispatchQueue(label: "") }
    public class func global(qos: DispatchQoS.QoSClass = .default) -> DispatchQueue { DispatchQueue(label: "") }
    public func async(
        group: DispatchGroup? = nil, qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [],
        execute work: @escaping @Sendable @convention(block) () -> Void
    ) {}
    @preconcurrency public func setSpecific<T: Sendable>(key: DispatchSpecificKey<T>, value: T?) {}
    @preconcurrency public class func getSpecific<T: Sendable>(key: DispatchSpecificKey<T>) -> T? { nil }
}

// https://developer.apple.com/documentation/dispatch/dispatchsemaphore
open class DispatchSemaphore: @unchecked Sendable {
    public init(value: Int) {}
    @discardableResult public func signal() -> Int { 0 }
    public func wait() {}
    public func wait(timeout: DispatchTime) -> DispatchTimeoutResult { .success }
}

// https://developer.apple.com/documentation/dispatch/dispatchtimeoutresult
public enum DispatchTimeoutResult: Sendable {
    case success
    case timedOut
}

// https://developer.apple.com/documentation/dispatch/dispatchtime
public struct DispatchTime: Sendable {
    public static func now() -> DispatchTime { DispatchTime() }
    public static func + (time: DispatchTime, seconds: Double) -> DispatchTime { time }
}

// https://developer.apple.com/documentation/dispatch/dispatchspecifickey
public final class DispatchSpecificKey<T>: @unchecked Sendable {
    public init() {}
}

// https://developer.apple.com/documentation/dispatch/dispatchqos
public struct DispatchQoS: Sendable {
    public enum QoSClass: Sendable {
        case `default`
    }

    public static let unspecified = DispatchQoS()
}

// https://developer.apple.com/documentation/dispatch/dispatchgroup
open class DispatchGroup: @unchecked Sendable {}

// https://developer.apple.com/documentation/dispatch/dispatchworkitemflags
public struct DispatchWorkItemFlags: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
}

// https://developer.apple.com/documentation/dispatch/dispatchsource
open class DispatchSource: DispatchSourceSignal, DispatchSourceFileSystemObject {
    public struct FileSystemEvent: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        public static let delete = FileSystemEvent(rawValue: 0x1)
        public static let write = FileSystemEvent(rawValue: 0x2)
        public static let rename = FileSystemEvent(rawValue: 0x20)
        public static let revoke = FileSystemEvent(rawValue: 0x40)
    }

    public class func makeFileSystemObjectSource(
        fileDescriptor: Int32, eventMask: FileSystemEvent, queue: DispatchQueue? = nil
    ) -> any DispatchSourceFileSystemObject {
        DispatchSource()
    }
    public class func makeSignalSource(signal: Int32, queue: DispatchQueue? = nil) -> any DispatchSourceSignal {
        DispatchSource()
    }
    public func resume() {}
    public func cancel() {}
}

// https://developer.apple.com/documentation/dispatch/dispatchsourceprotocol
public protocol DispatchSourceProtocol {
    typealias DispatchSourceHandler = @convention(block) () -> Void

    func resume()
    func cancel()
}

extension DispatchSourceProtocol {
    public func setEventHandler(
        qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: DispatchSourceHandler?
    ) {}
    public func setCancelHandler(
        qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: DispatchSourceHandler?
    ) {}
    public func activate() {}
}

// https://developer.apple.com/documentation/dispatch/dispatchsourcefilesystemobject
public protocol DispatchSourceFileSystemObject: DispatchSourceProtocol {}

// https://developer.apple.com/documentation/dispatch/dispatchsourcesignal
public protocol DispatchSourceSignal: DispatchSourceProtocol {}
