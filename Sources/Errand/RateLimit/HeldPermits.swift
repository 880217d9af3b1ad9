/// The permits that calls hold for their sends while they wait for a permit of a shared limiter.
///
/// A held permit is still in its source, because its period begins with the send. It is out of reach for other calls,
/// so a user has no more calls in the shared queue than permits. Urgent calls leave aside only what other urgent calls
/// hold: a refresh does not wait for the calls that wait for it. So a held permit may be gone when its call could send,
/// as it may after a pause. Then the call gives the shared permit back and waits for another, ahead of its own queue.
struct HeldPermits {
    /// Whether a call can hold permits only while no other of its urgency does. Evenly spaced calls could otherwise
    /// leave the shared queue in a bunch.
    let isExclusive: Bool
    private var urgent = 0
    private var normal = 0

    init(isExclusive: Bool) {
        self.isExclusive = isExclusive
    }

    mutating func hold(_ cost: Int, isUrgent: Bool) {
        if isUrgent { urgent += cost } else { normal += cost }
    }

    mutating func release(_ cost: Int, isUrgent: Bool) {
        if isUrgent { urgent -= cost } else { normal -= cost }
    }

    /// Returns how many permits a source must have for a call to hold `cost` of them; `nil` if others must be released
    /// first.
    func needed(for cost: Int, isUrgent: Bool) -> Int? {
        let others = isUrgent ? urgent : urgent + normal
        return isExclusive && others > 0 ? nil : cost + others
    }
}
