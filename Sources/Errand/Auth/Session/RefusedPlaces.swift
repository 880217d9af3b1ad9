/// The endpoints that have refused a token which had just replaced a refused one, whatever other endpoints do. Each has
/// a budget of its own: one that always responds with 401 must not have the token replaced for each call (T3).
///
/// A token counts once for an endpoint, however many calls were sent with it.
struct RefusedPlaces: Sendable {
    /// So many tokens an endpoint may have for nothing, and all together, within 30 seconds.
    private static let (capOfPlace, cap) = (5, 8)
    private static let window = Duration.seconds(30)

    private struct Refusal: Sendable {
        let place: String
        let access: String
        let instant: Instant
    }

    private var refusals: [Refusal] = []

    /// Whether a call to that endpoint may have its token replaced.
    func mayReplay(at place: String, _ now: Instant) -> Bool {
        let recent = refusals.filter { $0.instant.duration(to: now) < Self.window }
        return Set(recent.map(\.access)).count < Self.cap && recent.count { $0.place == place } < Self.capOfPlace
    }

    mutating func note(_ place: String, _ access: String, at now: Instant) {
        refusals.removeAll { $0.instant.duration(to: now) >= Self.window }
        // More places than these say nothing new about a token.
        guard refusals.count < Self.cap * Self.capOfPlace,
            !refusals.contains(where: { $0.place == place && $0.access == access })
        else { return }
        refusals.append(Refusal(place: place, access: access, instant: now))
    }
}
