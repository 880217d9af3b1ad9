/// The receivers of a client's events: the listeners of its streams, and its observer.
///
/// Waking a listener costs more than a call's own work, and a call has several events. So events wait for a few
/// milliseconds, and listeners receive them together. The observer, which is called in the task of the call, receives
/// each at once.
final class EventHub: Sendable {
    /// How long an event may wait, in real time: too short for a person to notice.
    private static let delay = Duration.milliseconds(5)
    /// How many events a slow listener can fall behind before it misses the oldest.
    private static let capacity = 10_000

    /// The origin of the server whose calls send the events; `nil` if it has no valid URL.
    let server: String?
    private let observer: (@Sendable (ClientEvent) -> Void)?
    private let listeners = Broadcast<ClientEvent>()
    private let waiting = Lock<[ClientEvent]>([])

    init(of server: String? = nil, observer: (@Sendable (ClientEvent) -> Void)? = nil) {
        self.server = server
        self.observer = observer
    }

    /// Whether the events have receivers: an event that has none need not be created.
    var hasListeners: Bool { observer != nil || listeners.hasListeners }

    /// Returns a stream of the events from now on.
    var stream: AsyncStream<ClientEvent> {
        let (stream, waiting) = waiting.withLock { waiting in
            let tasks = passOn(&waiting)
            return (listeners.stream(capacity: Self.capacity), tasks)
        }
        waiting.resume()
        return stream
    }

    func send(_ event: ClientEvent) {
        observer?(event)
        guard listeners.hasListeners else { return }
        let isFirst = waiting.withLock { waiting in
            waiting.append(event)
            return waiting.count == 1
        }
        guard isFirst else { return }
        let time = SystemTime.shared
        _ = time.schedule(at: time.now.advanced(by: Self.delay), for: .watch) { [weak self] in
            guard let self else { return }
            waiting.withLock { passOn(&$0) }.resume()
        }
    }

    func finish() {
        waiting.withLock { passOn(&$0) }.resume()
        listeners.finish()
    }

    /// Passes the waiting events on, under the lock: so they stay in order.
    private func passOn(_ waiting: inout [ClientEvent]) -> WaitingTasks {
        defer { waiting.removeAll(keepingCapacity: true) }
        return listeners.queue(waiting)
    }
}
