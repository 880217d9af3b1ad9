/// The endpoints that have refused a token which had just replaced a refused one, whatever other endpoints do. Each has
/// a budget of its own: one that always responds with 401 must not have the token replaced for each call (T3).
struct RefusedPlaces: Sendable {
    /// So often an endpoint may have a token replaced for nothing, and all together, within 30 seconds.
    private static let (capOfPlace, cap) = (5, 20)
    private static let window = Duration.seconds(30)

    private var refusals: [(place: String, instant: Instant)] = []

    /// Whether a call to that endpoint may have its token replaced.
    func mayReplay(at place: String, _ now: Instant) -> Bool {
        let recent = refusals.filter { $0.instant.duration(to: now) < Self.window }
        return recent.count < Self.cap && recent.count { $0.place == place } < Self.capOfPlace
    }

    mutating func note(_ place: String, at now: Instant) {
        refusals.removeAll { $0.instant.duration(to: now) >= Self.window }
        // Calls that were under way may bring more.
        if refusals.count < Self.cap { refusals.append((place, now)) }
    }
}
