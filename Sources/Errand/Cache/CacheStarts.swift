/// When the requests were sent that were answered last. So the answer to an earlier request, which comes late, does not
/// take the place of the answer to a later one (K11).
///
/// Of a resource whose responses depend on the same fields, each variant stands for itself.
struct CacheStarts: Sendable {
    /// When more are known than this, the older half is forgotten: requests that take so long are rare.
    static let capacity = 4096

    private struct Place: Hashable {
        let key: CacheKey
        let variant: CacheVariant
    }

    private struct Latest {
        let start: Instant
        /// The fields that the answer depends on; `nil` if it was not stored.
        let names: [String]?
    }

    private var stored: [Place: Instant] = [:]
    private var latest: [CacheKey: Latest] = [:]

    var count: Int { stored.count + latest.count }

    /// Returns whether a later request was answered there in a way that makes this response out of date; otherwise
    /// notes the response.
    mutating func overtook(_ response: StoredResponse, at key: CacheKey, since start: Instant) -> Bool {
        let place = Place(key: key, variant: response.variant)
        if let later = stored[place], later > start { return true }
        if let later = latest[key], later.start > start, later.names != response.variant.names { return true }
        stored[place] = start
        note(Latest(start: start, names: response.variant.names), at: key)
        guard stored.count > Self.capacity else { return false }
        let median = stored.values.sorted()[Self.capacity / 2]
        stored = stored.filter { $0.value > median }
        return false
    }

    /// Notes an answer that is not stored, and says that something else may be out of date.
    mutating func note(unstoredAt key: CacheKey, since start: Instant) {
        note(Latest(start: start, names: nil), at: key)
    }

    private mutating func note(_ answer: Latest, at key: CacheKey) {
        if let later = latest[key], later.start > answer.start { return }
        latest[key] = answer
        guard latest.count > Self.capacity else { return }
        let median = latest.values.map(\.start).sorted()[Self.capacity / 2]
        latest = latest.filter { $0.value.start > median }
    }
}
