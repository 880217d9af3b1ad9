/// What the system says about its way to other machines.
struct NetworkPath: Sendable, Hashable {
    /// Whether there is a way, or would be one on demand.
    var isUsable: Bool
    /// Whether the way goes over a cellular network.
    var isCellular = false
    /// Whether the way costs money by volume, as a cellular network or a personal hotspot does.
    var isExpensive = false
    /// Whether the user has turned on Low Data Mode for it.
    var isConstrained = false
}

/// A source of paths: the system's path monitor or, in a test, a script.
protocol PathSource: Sendable {
    /// Starts to report each path of the system, until the source is released.
    func start(_ report: @escaping @Sendable (NetworkPath) -> Void)
}

/// The kinds of networks that requests may use.
public struct NetworkAccess: Sendable, Hashable {
    /// Whether requests may use a cellular network; `true` by default.
    public var allowsCellular = true
    /// Whether requests may use a network that the system regards as expensive, such as a cellular network or a
    /// personal hotspot; `true` by default.
    public var allowsExpensive = true
    /// Whether requests may use a network for which the user has turned on Low Data Mode; `true` by default.
    public var allowsConstrained = true

    /// Creates a value that allows every network.
    public init() {}

    /// Every network: the default.
    public static let any = NetworkAccess()

    /// Returns whether requests may take that path.
    func allows(_ path: NetworkPath) -> Bool {
        path.isUsable && (allowsCellular || !path.isCellular) && (allowsExpensive || !path.isExpensive)
            && (allowsConstrained || !path.isConstrained)
    }
}

/// The latest path of a source.
final class ObservedNetwork: Sendable {
    private let source: any PathSource
    /// `nil` until the first report.
    private let latest = Lock<NetworkPath?>(nil)

    init(_ source: any PathSource) {
        self.source = source
        source.start { [weak self] path in self?.latest.withLock { $0 = path } }
    }

    /// Returns whether there is a network that `access` allows. Until the first report, there may well be one.
    func isOnline(for access: NetworkAccess = .any) -> Bool {
        latest.withLock { $0.map(access.allows) ?? true }
    }
}
