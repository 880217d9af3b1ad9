import Synchronization

/// A time limit for all calls that a task makes, of any client.
///
///     let page = try await Deadline(after: .milliseconds(800)).run {
///         async let friends = users.run(.friends(of: id))
///         async let news = feed.run(Endpoint<[String]>.get("news"))
///         return try await (friends, news)
///     }
///
/// A call that is not over when the limit has passed ends with `.timedOut`, as with a deadline of its own; of the two,
/// the earlier one holds. A call that begins later sends nothing. Calls of child tasks have the limit too, and so do
/// those of a `Task { }` that begins in it, until the operation is over. What else the task does is not limited, and
/// neither is what other calls wait for as well, such as a token refresh.
public struct Deadline: Sendable {
    /// A deadline while its operation runs.
    final class Current: Sendable {
        let deadline: Deadline
        private let isOver = Atomic(false)

        fileprivate init(_ deadline: Deadline) {
            self.deadline = deadline
        }

        fileprivate func end() { isOver.store(true, ordering: .relaxed) }

        /// The deadline, as long as its operation runs.
        var value: Deadline? { isOver.load(ordering: .relaxed) ? nil : deadline }
    }

    /// The limit for the calls of this task; `nil` for none.
    @TaskLocal static var current: Current?

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
        let outer = Self.current?.value
        let deadline = if let outer, outer.remaining < remaining { outer } else { self }
        let current = Current(deadline)
        defer { current.end() }
        return try await Self.$current.bound(to: current, operation)
    }
}

extension TimeSource {
    /// Starts a task that works for no caller alone, so that no caller's deadline limits it.
    @discardableResult
    package func startTask<Success: Sendable>(
        _ operation: @escaping @Sendable () async -> Success
    ) -> Task<Success, Never> {
        Deadline.$current.withValue(nil) { Task(executorPreference: executor, operation: operation) }
    }
}
