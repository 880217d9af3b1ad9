/// The information about one session. It is discarded as a whole, so nothing is left for the next session.
///
/// Only the transitions of ``SessionState`` change it.
struct SessionHistory<Refresh: Equatable & Sendable>: Sendable {
    private static var replacedLimit: Int { 16 }

    /// Whether the store has yet to obtain the first token: until then, no call has the session.
    var awaitsToken = false
    /// Whether the session is known to be saved, or if there is none, that nothing is saved. Only then does another
    /// finding mean that another process has signed in or out.
    var isSaved = false
    /// The revision of the session that is known to be saved; `nil` if that is not known.
    var savedRevision: Int?
    /// The refresh under way.
    var refresh: Refresh?
    /// The access token that the server has refused last.
    var refused: String?
    /// The access token that the server has accepted last.
    var accepted: String?
    /// The access tokens that were replaced, the latest last; only a few, because a 401 seldom arrives late.
    private(set) var replaced: [String] = []
    var pace = RefreshPace()
    var refusedPlaces = RefusedPlaces()
    /// When the server has refused a refresh without a word, in a row: the first time, and the last ones.
    var muteRefusals: [Instant] = []

    mutating func noteMuteRefusal(at now: Instant) {
        if muteRefusals.count > 2 { muteRefusals.remove(at: 1) }
        muteRefusals.append(now)
    }

    /// Notes what is saved.
    mutating func noteFound(_ saved: SavedSession?) {
        isSaved = true
        savedRevision = saved?.revision
    }

    /// Notes that a token was replaced, unless it was only awaited.
    mutating func noteReplaced(_ token: Token) {
        if !awaitsToken { replaced.append(token.accessToken) }
        if replaced.count > Self.replacedLimit { replaced.removeFirst() }
        awaitsToken = false
    }
}
