/// A check for a network. It runs before every attempt, so it must cost next to nothing.
///
/// It says only whether this machine has a route to other machines, not whether the server can be reached. Calls to
/// this machine itself ignore it.
public struct Connectivity: Sendable {
    private let isOnline: @Sendable () -> Bool

    /// Creates a check with your own closure, which must be quick.
    public init(_ isOnline: @escaping @Sendable () -> Bool) {
        self.isOnline = isOnline
    }

    /// The system's view: on Linux the kernel's routing tables, read at most once a second; on Apple's platforms the
    /// path monitor.
    public static var system: Connectivity {
        Connectivity { SystemNetwork.shared.isOnline() }
    }

    #if canImport(Network)
    /// The system's view, which counts only networks of those kinds.
    static func system(allowing access: NetworkAccess) -> Connectivity {
        Connectivity { SystemNetwork.shared.isOnline(for: access) }
    }
    #endif

    /// A check that always finds a network.
    public static let always = Connectivity { true }

    /// Returns whether there is a network now.
    public func callAsFunction() -> Bool { isOnline() }
}
