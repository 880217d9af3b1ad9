/// What is fixed about a call from its beginning, and about each transmission for it.
///
/// A class, because the call and its transmission share it: copying a struct would retain each of its many fields.
final class CallSettings: Sendable {
    let id: Int
    let method: HTTPMethod
    let path: EndpointPath
    /// How the caller wants to receive the body of the response.
    let delivery: TransportContext.Delivery
    /// Whether the response may come from the cache: it may for a body that is decoded as a whole, and for a stream,
    /// but not for an event stream or a download (K16).
    let acceptsCached: Bool
    private let shared: BoxedRules
    let started: Instant
    let deadline: Instant
    /// The limit that the deadline comes from; `nil` if there is none.
    let deadlineLimit: Duration?
    let time: any TimeSource
    let events: EventHub
    /// Reports how much of the body has been sent, if the caller wants to know.
    let upload: UploadProgress?
    /// How far a redirect may take the identifier of an event stream's last event.
    let eventIDReach: EventIDReach
    /// The refresh of a token store that makes the call; `nil` if none does.
    let refreshRun = TokenStore.refreshing.flatMap { $0.isUnderWay ? $0 : nil }
    /// The name, if anybody listens to the events: each event has it.
    private let knownName: String?

    init(
        id: Int, method: HTTPMethod, path: EndpointPath, delivery: TransportContext.Delivery = .whole,
        acceptsCached: Bool = true, rules: BoxedRules, time: any TimeSource, events: EventHub,
        onUpload: UploadProgress.Report? = nil,
        eventIDs eventIDReach: EventIDReach = .ownOrigin, started: Instant? = nil
    ) {
        self.id = id
        self.method = method
        self.path = path
        self.delivery = delivery
        self.acceptsCached = acceptsCached
        shared = rules
        self.time = time
        self.events = events
        self.eventIDReach = eventIDReach
        upload = onUpload.map { UploadProgress(time: time, $0) }
        knownName = events.hasListeners ? "\(method) \(path)" : nil
        self.started = started ?? time.now
        let own = rules.rules.deadline.map(self.started.advanced(by:)) ?? .distantFuture
        if let group = Deadline.current?.value, case let end = time.now.advanced(by: group.remaining), end < own {
            (deadline, deadlineLimit) = (end, group.limit)
        } else {
            (deadline, deadlineLimit) = (own, rules.rules.deadline)
        }
    }

    /// Creates the settings of a transmission that several calls share: those of the call that starts it, but without
    /// what only that call owns. Its events have the number of that call.
    init(sharedBy settings: CallSettings) {
        id = settings.id
        method = settings.method
        path = settings.path
        delivery = settings.delivery
        acceptsCached = settings.acceptsCached
        shared = BoxedRules(settings.rules.withoutDeadline)
        started = settings.time.now
        (deadline, deadlineLimit) = (.distantFuture, nil)
        time = settings.time
        events = settings.events
        upload = nil
        eventIDReach = settings.eventIDReach
        knownName = settings.knownName
    }

    var rules: CallRules { shared.rules }

    /// The method and the path of the call, without the query. Built once if the events have listeners.
    var name: String { knownName ?? "\(method) \(path)" }

    /// Whether a token store makes the call to refresh its token. Such a call goes to the front of the limiter's queue.
    var isRefreshCall: Bool { refreshRun != nil }

    /// A number for the endpoint: its method, and its path without interpolated values.
    var endpointNumber: Int {
        var hasher = Hasher()
        hasher.combine(method)
        path.hashPattern(into: &hasher)
        return hasher.finalize()
    }

    /// The time since the call began.
    var age: Duration { started.duration(to: time.now) }

    /// Whether the client's events have listeners.
    var isHeard: Bool { events.hasListeners }

    /// Sends an event to the listeners; it is created only if there are any.
    func report(_ event: @autoclosure () -> ClientEvent.Kind) {
        guard events.hasListeners else { return }
        events.send(ClientEvent(call: id, endpoint: name, at: time.now, kind: event().withoutContent))
    }
}
