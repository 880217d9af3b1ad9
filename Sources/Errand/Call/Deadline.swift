/// A time limit for all calls that a task makes, of any client.
///
///     let page = try await Deadline(after: .milliseconds(800)).run {
///         async let friends = users.run(.friends(of: id))
///         async let news = feed.run(Endpoint<[String]>.get("news"))
///         return try await (friends, news)
///     }
///
/// A call that is not over when the limit has passed ends with `.timedOut`, as with a deadline of its own; of the two,
/// the earlier one holds. A call that begins later sends nothing. Calls of child tasks have the limit too. What else
/// the task does is not limited, and neither is a token refresh, because other calls wait for it as well.
public struct Deadline: Sendable {
    /// The limit for the calls of this task; `nil` for none.
    @TaskLocal static var current: Deadline?

    /// The limit, as it was when it began.
    let limit: Duration
    private let end: Instant
    private let time: any TimeSource

    /// Creates a limit that begins now.
    ///
    /// - Parameters:
    ///   - limit: How long calls may take from now on.
    ///   - time: The source of time, the system's clocks by default; a test uses that of its client.
    public init(after limit: Duration, time: any TimeSource = .system) {
        self.limit = limit
        self.time = time
        end = time.now.advanced(by: limit)
    }

    /// The time that is left; zero once it has passed.
    public var remaining: Duration { max(.zero, time.now.duration(to: end)) }

    /// Runs an operation whose calls have this limit. Within another one, the earlier of the two holds.
    public func run<Value, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation, _ operation: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let outer = Self.current
        let deadline = if let outer, outer.remaining < remaining { outer } else { self }
        let result: Result<Value, Failure> = await Self.$current.withValue(deadline) {
            do throws(Failure) {
                return .success(try await operation())
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
