// Declarations of Apple's, without a behavior: see Tests/AppleStubs/README.md.
// swift-format-ignore-file

public import Dispatch

// https://developer.apple.com/documentation/network/nwpath
public struct NWPath: Sendable {
    public enum Status: Sendable {
        case satisfied
        case unsatisfied
        case requiresConnection
    }

    public var status: Status { .satisfied }
    public var isExpensive: Bool { false }
    public var isConstrained: Bool { false }
    public func usesInterfaceType(_ type: NWInterface.InterfaceType) -> Bool { false }
}

// https://developer.apple.com/documentation/network/nwinterface/interfacetype
public struct NWInterface: Sendable {
    public enum InterfaceType: Sendable {
        case other
        case wifi
        case cellular
        case wiredEthernet
        case loopback
    }
}

// https://developer.apple.com/documentation/network/nwpathmonitor
// Not every version of the framework says that it is Sendable, so this one does not.
public final class NWPathMonitor {
    public init() {}
    @preconcurrency public var pathUpdateHandler: (@Sendable (NWPath) -> Void)?
    public func start(queue: DispatchQueue) {}
    public func cancel() {}
}
