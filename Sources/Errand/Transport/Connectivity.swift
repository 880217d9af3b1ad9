import Synchronization

/// Whether there is a network at all: a question that is asked before every attempt, and so must cost next to nothing.
///
/// It says only that there is a way out of this machine, not that the server can be reached. Calls to this machine
/// itself are never held up by it.
public struct Connectivity: Sendable {
    private let isOnline: @Sendable () -> Bool

    /// Asks the user's own closure, which must be quick.
    public init(_ isOnline: @escaping @Sendable () -> Bool) {
        self.isOnline = isOnline
    }

    /// Asks the system: on Linux the kernel's tables of routes, at most once a second; on Apple's platforms the path
    /// monitor.
    public static var system: Connectivity {
        Connectivity { SystemNetwork.shared.isOnline }
    }

    /// There always is one.
    public static let always = Connectivity { true }

    /// Whether there is a network now.
    public func callAsFunction() -> Bool { isOnline() }
}

/// What a call does when there is no network.
public enum OfflineRule: Sendable, Hashable {
    /// It fails at once with `.noInternetConnection`.
    case fail
    /// It waits for the network, so long at most, and fails with `.noInternetConnection` then.
    case wait(upTo: Duration)
}
