#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The events of an event stream, as an asynchronous sequence that connects again when the connection breaks.
///
///     for try await event in client.events(.get("feed")) { show(event.data) }
///
/// Each connection is a call like any other, with a permit, a token, redirects and retries. When it ends or breaks, or
/// is silent for longer than the timeout, the client connects again, with the last identifier in `Last-Event-ID`: after
/// the pause that the server asks for, or after a random pause that grows from one second to thirty while no event
/// comes. The sequence ends with the status 204, when ``until(_:)`` says so, and with its task. A status that is an
/// error, a wrong content type and a deadline that has passed are thrown; when the user signs out, `.sessionExpired`.
///
/// While nobody reads the events, the connection is not read either.
public struct ServerSentEvents: AsyncSequence, Sendable {
    /// Opens the stream, with the last identifier, until an instant, after a pause if it is opened again.
    let open:
        @Sendable (_ lastID: String, _ end: Instant?, _ pause: StreamPause?) async throws(ServiceError)
            -> StreamedResponse
    let time: any TimeSource
    /// The longest pause that the server may ask for.
    let longestPause: Duration
    let lastID: String
    /// The limit for one iteration, over all its connections.
    let deadline: Duration?
    var isResumed: Bool
    var limit = 1 << 20
    var isEnd: @Sendable (ServerSentEvent) -> Bool = { _ in false }

    /// Returns the events before the first one that satisfies the condition. Streams of language models, for example,
    /// end with the data `[DONE]`.
    public func until(_ isEnd: @escaping @Sendable (ServerSentEvent) -> Bool) -> Self {
        var copy = self
        copy.isEnd = { [self] in self.isEnd($0) || isEnd($0) }
        return copy
    }

    /// Returns the same events, connected again or not when the connection ends. By default only a GET is: a POST would
    /// be sent a second time.
    public func reconnecting(_ isResumed: Bool) -> Self {
        var copy = self
        copy.isResumed = isResumed
        return copy
    }

    /// Returns the same events, of which each may have at most that many bytes; 1 MiB by default. A larger one is
    /// `.transport` of the kind `.tooLarge`.
    public func limit(_ bytes: Int) -> Self {
        var copy = self
        copy.limit = bytes
        return copy
    }

    /// Creates an iterator, which connects when its first event is asked for.
    public func makeAsyncIterator() -> Iterator {
        Iterator(self)
    }

    /// Reads an event stream event by event.
    public struct Iterator: AsyncIteratorProtocol {
        /// Grows while connections bring no event; a quarter of it is fixed, the rest random.
        private static let backoff = Backoff(base: .seconds(1), cap: .seconds(30))

        private let events: ServerSentEvents
        private var parser: EventStreamParser
        private var chunks: StreamedResponse.Chunks.Iterator?
        private(set) var decoding: StreamDecoding?
        /// Why the last connection ended; `nil` before the first.
        private var lastEnd: ClientEvent.RetryReason?
        /// When the iteration has to end.
        private var deadline: Instant?
        /// How many connections in a row have brought no event.
        private var failures = 0
        /// The session of the first connection.
        private var session: UUID?
        private var isOver = false

        init(_ events: ServerSentEvents) {
            self.events = events
            parser = EventStreamParser(limit: events.limit, lastID: events.lastID)
        }

        /// Returns the next event as soon as it is complete; `nil` at the end, and after an error.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(ServiceError) -> ServerSentEvent? {
            guard !isOver else { return nil }
            deadline = deadline ?? events.deadline.map(events.time.now.advanced(by:))
            do throws(ServiceError) {
                if let event = try await event(isolation: actor) { return event }
            } catch {
                end()
                throw error.limited(to: events.deadline)
            }
            end()
            return nil
        }

        private mutating func event(
            isolation actor: isolated (any Actor)?
        ) async throws(ServiceError) -> ServerSentEvent? {
            while true {
                if let event = try parser.next() {
                    failures = 0
                    return events.isEnd(event) ? nil : event
                }
                guard chunks != nil else {
                    guard try await connect() else { return nil }
                    continue
                }
                do throws(ServiceError) {
                    if let chunk = try await chunks?.next(isolation: actor) {
                        parser.append(chunk)
                        continue
                    }
                    lastEnd = .status(200)
                } catch {
                    guard events.isResumed, error.isWorthReconnecting else { throw error }
                    lastEnd = .failure(error)
                }
                guard events.isResumed else { return nil }
                chunks = nil
                parser.restart()
            }
        }

        /// Opens the stream. Returns `false` if the server has no more events.
        private mutating func connect() async throws(ServiceError) -> Bool {
            while true {
                let before = lastEnd.map { StreamPause(duration: pause, reason: $0, session: session) }
                do throws(ServiceError) {
                    failures += 1
                    let response = try await events.open(parser.lastID, deadline, before)
                    guard response.status != 204 else { return false }
                    try response.checkIsEventStream()
                    (decoding, session) = (response.decoding, response.session)
                    chunks = response.chunks.makeAsyncIterator()
                    return true
                } catch {
                    guard lastEnd != nil, error.isWorthReconnecting else { throw error }
                    lastEnd = .failure(error)
                }
            }
        }

        /// The pause before the next connection.
        private var pause: Duration {
            let longest = Self.backoff.longest(beforeRetry: Swift.max(failures, 1))
            let random = Self.backoff.pause(
                beforeRetry: Swift.max(failures, 1), random: events.time.randomFraction() * 0.75)
            // Many readers that lost one server do not come back together, even if it has told them the same pause.
            let own = longest / 4 + random
            guard let asked = parser.pause.map({ Swift.min($0, events.longestPause) }) else { return own }
            return Swift.max(asked + asked * events.time.randomFraction() / 10, failures > 1 ? own : .zero)
        }

        mutating func end() {
            isOver = true
            // Releasing the response ends its call.
            chunks = nil
        }
    }
}
