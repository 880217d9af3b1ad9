/// A check for a network. It runs before every attempt, so it must cost next to nothing.
///
/// The system's check says whether this machine has a route to other machines, and not whether the server can be
/// reached. Calls to this machine itself do not ask it. A check of your own holds for every server.
public struct Connectivity: Sendable {
    private let isOnline: @Sendable () -> Bool
    /// Whether the check holds for calls to this machine itself.
    package let coversLoopback: Bool

    /// Creates a check with your own closure, which must be quick. It is asked for every server, also for one on this
    /// machine, such as a `LoopbackServer` of a test.
    public init(_ isOnline: @escaping @Sendable () -> Bool) {
        self.init(coversLoopback: true, isOnline)
    }

    package init(coversLoopback: Bool, _ isOnline: @escaping @Sendable () -> Bool) {
        self.coversLoopback = coversLoopback
        self.isOnline = isOnline
    }

    /// The system's view: on Linux the kernel's routing tables, read at most once a second; on Apple's platforms the
    /// path monitor.
    public static var system: Connectivity {
        Connectivity(coversLoopback: false) { SystemNetwork.shared.isOnline() }
    }

    #if canImport(Network)
    /// The system's view, which counts only networks of those kinds.
    static func system(allowing access: NetworkAccess) -> Connectivity {
        Connectivity(coversLoopback: false) { SystemNetwork.shared.isOnline(for: access) }
    }
    #endif

    /// A check that always finds a network.
    public static let always = Connectivity { true }

    /// Returns whether there is a network now.
    public func callAsFunction() -> Bool { isOnline() }
}
