/// The pause before an event stream connects again.
///
/// The server may ask for one, and a bad one may ask for none, or for a year: it is at least half a second, so that a
/// server that closes at once is not asked a thousand times a second, and at most a minute, so that no server silences
/// the stream for good. A part of it is random: readers that lost one server do not come back together, even if it
/// gave all of them the same pause.
struct EventPause {
    /// Half of a second at least.
    private static let shortest = Duration.milliseconds(500)
    /// A minute, with the random part.
    private static let longest = Duration.seconds(60)
    /// Grows while connections bring no event; half of it is fixed, the rest random.
    private static let backoff = Backoff(base: .seconds(1), cap: .seconds(30))

    /// The pause that the server asks for; `nil` if it does not.
    let asked: Duration?
    /// How many connections in a row have brought no event.
    let failures: Int
    /// The longest pause that the client's configuration allows a server to ask for.
    let longest: Duration

    /// Returns the pause; `random` is at least 0 and less than 1.
    func duration(random: Double) -> Duration {
        let own = Self.backoff.longest(beforeRetry: max(failures, 1))
        let grown = own / 2 + own / 2 * random
        guard let asked else { return grown }
        let ceiling = max(Self.shortest * 1.5, min(longest, Self.longest))
        // A tenth more, and a quarter of a second where that is hardly anything. A pause at the ceiling has its random
        // part below it.
        let wish = min(max(asked, Self.shortest), ceiling)
        let spread = max(wish / 10, Self.shortest / 2)
        let kept = min(wish + spread, ceiling)
        return max(kept - spread + spread * random, failures > 1 ? grown : .zero)
    }
}
