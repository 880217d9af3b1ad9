/// Reports for the second of two sends of a transmission: the phase is that of the first.
final class HedgeReporter: PhaseReporter {
    private let transmission: Transmission

    init(_ transmission: Transmission) {
        self.transmission = transmission
    }

    var mayWait: Bool { false }

    func note(_ phase: Phase) {}

    func beginUpload(of length: Int?) -> (@Sendable (Int) -> Void)? { transmission.beginUpload(of: length) }

    func beginReading(until end: Latch) -> Latch? {
        transmission.beginReading(until: end)
    }

    func noteWait(forPermit wait: Duration) { transmission.noteWait(forPermit: wait) }

    func tell(_ event: () -> ClientEvent.Kind?) { transmission.tell(event) }

    func timedOut(_ bound: Timeout.Bound) -> ServiceError { transmission.timedOut(bound) }
}
