import Errand

/// A limit that is lowered for a while: permits are set aside, and come back step by step.
struct LoweredLimit: Sendable {
    private var aside = 0
    private var since = Instant.zero

    /// Notes since when as many permits as now have been set aside.
    mutating func see(_ record: LimitRecord, at now: Instant) {
        guard record.aside != aside else { return }
        (aside, since) = (record.aside, now)
    }

    /// Sets permits aside, or brings some back. Returns when to look again.
    func step(
        _ settings: LimitLowering, isRefused: Bool, of id: String, in record: inout LimitRecord, at now: Instant
    ) -> Instant? {
        if isRefused {
            let left = max(1, Int(Double(record.permits - record.aside) * settings.factor))
            move(record.permits - record.aside - left, in: &record)
            return nil
        }
        guard record.aside > 0 else { return nil }
        // The first node restores; the others only if it does not.
        let isFirst = record.nodes.first.map { $0.id == id } ?? true
        let due = since.advanced(by: isFirst ? settings.recovery : settings.recovery * 2)
        guard due <= now else { return due }
        move(-min(record.aside, max(1, record.permits / 10)), in: &record)
        return nil
    }

    private func move(_ count: Int, in record: inout LimitRecord) {
        record.aside += count
        record.free -= count
    }
}
