#if canImport(Network)
import Dispatch
import Network
import Synchronization

/// The system's path monitor.
final class SystemPathSource: PathSource {
    /// In a `Mutex`, because not every version of the framework says that the monitor is `Sendable`.
    private let monitor = Mutex(NWPathMonitor())

    func start(_ report: @escaping @Sendable (NetworkPath) -> Void) {
        monitor.withLock { monitor in
            monitor.pathUpdateHandler = { path in report(NetworkPath(path)) }
            monitor.start(queue: DispatchQueue(label: "errand.network"))
        }
    }
}

extension NetworkPath {
    init(_ path: NWPath) {
        self.init(
            isUsable: path.status != .unsatisfied, isCellular: path.usesInterfaceType(.cellular),
            isExpensive: path.isExpensive, isConstrained: path.isConstrained)
    }
}

/// The network of the process.
enum SystemNetwork {
    static let shared = ObservedNetwork(SystemPathSource())
}
#endif
