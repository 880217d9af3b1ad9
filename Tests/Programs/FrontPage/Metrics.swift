import Errand
import Synchronization

/// How many calls of each service have succeeded, how many have failed, and why.
final class Metrics: Sendable {
    private let counts = Mutex<[String: Int]>([:])

    var snapshot: [String: Int] { counts.withLock { $0 } }

    func count(_ event: ClientEvent, of service: String) {
        switch event.kind {
        case .succeeded: add("\(service).succeeded")
        case .ended(let error, _, _): add("\(service).\(error.name)")
        default: break
        }
    }

    func countMistake() { add("mistakes") }

    private func add(_ name: String) { counts.withLock { $0[name, default: 0] += 1 } }
}
