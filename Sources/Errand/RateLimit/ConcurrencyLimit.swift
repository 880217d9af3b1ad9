/// How many requests of a client are under way at once.
///
///     $0.concurrency = .atMost(8)
///
/// It limits what the client asks of a server at a time, and so keeps a slow server from being flooded, while a
/// ``RateLimit`` limits how often it is asked. See <doc:RateLimiting>.
public struct ConcurrencyLimit: Sendable, Hashable, CustomStringConvertible {
    let most: Int?
    let queue: Int

    /// No limit. The transport may have one of its own, such as ``CurlTransport/Options/connectionsPerOrigin``.
    public static let none = ConcurrencyLimit(most: nil, queue: .max)

    /// At most so many requests. The others wait, first come, first served, within the deadlines of their calls. If
    /// `queue` requests wait, a further one fails at once with `.transport`, of the kind `.overloaded`.
    ///
    /// Each attempt, each replay after a 401 and each redirect is a request. It begins before it waits for a permit and
    /// a token, and ends with the response or, if that is a stream or a download, when its head has come.
    public static func atMost(_ requests: Int, queue: Int = 1000) -> ConcurrencyLimit {
        ConcurrencyLimit(most: requests, queue: queue)
    }

    /// A description of what is wrong with the limit; `nil` if it is valid.
    var problem: String? {
        guard let most else { return nil }
        if most < 1 { return "a limit of \(most) requests at once; it must be 1 or more" }
        return queue < 0 ? "a queue for \(queue) requests; it must be 0 or more" : nil
    }

    /// The limit in words.
    public var description: String {
        most.map { "at most \($0) at once, and \(queue) in the queue" } ?? "no limit"
    }
}
