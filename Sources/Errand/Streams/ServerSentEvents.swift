#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension APIClient {
    /// Returns the events of a server's event stream (`text/event-stream`). Nothing is sent before the first event is
    /// asked for.
    ///
    ///     for try await event in client.events(.get("feed")) { show(event.data) }
    ///
    /// The endpoint's timeout limits each silence, 60 seconds if it has none of its own: then the client connects
    /// again. The client's own ``Configuration/timeout`` does not apply. The deadline limits the whole sequence.
    ///
    /// - Parameters:
    ///   - endpoint: The call. A GET is connected again when its connection ends, see
    ///     ``ServerSentEvents/reconnecting(_:fromStart:)``.
    ///   - lastID: The identifier of the last event that was received, to continue after that event. A redirect takes
    ///     it along.
    public nonisolated func events(_ endpoint: Endpoint<Data>, after lastID: String = "") -> ServerSentEvents {
        eventStream(endpoint.untyped, after: lastID)
    }

    /// Returns the events of a server's event stream.
    public nonisolated func events<Response>(
        _ endpoint: Endpoint<Response>, after lastID: String = ""
    ) -> ServerSentEvents {
        eventStream(endpoint.untyped, after: lastID)
    }

    /// Returns the data of a server's events as values, decoded from JSON with the decoder of the endpoint or the
    /// client.
    ///
    ///     for try await message in client.events(.get("feed"), of: Message.self) { show(message) }
    ///
    /// Data that does not match is `.decodingFailed`, and ends the sequence.
    public nonisolated func events<Message: Decodable & Sendable>(
        _ endpoint: Endpoint<Data>, of type: Message.Type, after lastID: String = ""
    ) -> ServerSentEvents.Messages<Message> {
        ServerSentEvents.Messages(events: events(endpoint, after: lastID))
    }

    private nonisolated func eventStream(_ endpoint: UntypedEndpoint, after lastID: String) -> ServerSentEvents {
        var endpoint = endpoint
        endpoint.headers["Accept"] = "text/event-stream"
        // As browsers do. `no-store` keeps a cache from storing the answer, but not from giving one that it has.
        endpoint.headers["Cache-Control"] = endpoint.headers["Cache-Control"] ?? "no-cache"
        endpoint.options.timeout = endpoint.options.timeout ?? .limit(.seconds(60))
        // What else a server responds with is no event stream.
        endpoint.options.acceptedStatuses = []
        let (time, call) = (configuration.time, endpoint)
        return ServerSentEvents(
            open: { lastID, reach, end, pause async throws(ServiceError) in
                var call = call
                // Spaces and tabs around a field's value are not part of it. An identifier that cannot be sent at all
                // is left out: the server has chosen it, so the call is not to blame.
                let id = lastID.trimmed
                if !id.isEmpty, HTTPSyntax.isFieldValue(id) { call.headers["Last-Event-ID"] = id }
                if let end { call.options.deadline = .limit(max(.zero, time.now.duration(to: end))) }
                // The next connection is the retry, after a pause that grows. More of them at once would press a server
                // that is down, and use up the retries of the client's other calls.
                if pause != nil { call.options.retry = .never }
                return try await self.open(call, acceptsCached: false, after: pause, eventIDs: reach)
            },
            time: time, longestPause: configuration.longestServerPause, lastID: lastID,
            deadline: endpoint.options.deadline.map(\.duration) ?? configuration.deadline,
            passingStatuses: (endpoint.options.retry ?? configuration.retry).statuses,
            isResumed: endpoint.method == .get)
    }
}

/// The events of an event stream, as an asynchronous sequence that connects again when the connection breaks.
///
///     for try await event in client.events(.get("feed")) { show(event.data) }
///
/// Each connection is a call like any other, with a permit, a token and redirects; the first is retried like any other
/// too. When a connection ends or breaks, or is silent for longer than the timeout, the client connects again, with the
/// last identifier in `Last-Event-ID`: after the pause that the server asks for, or after a random pause that grows
/// from one second to thirty while no event comes. It is at least half a second and at most a minute, whatever the
/// server asks for. The sequence ends with the status 204, when ``until(_:)`` says so, and with its task.
///
/// It connects again after a failure that may pass: no network, a silence, a connection that could not be opened or
/// that broke, a rate limit, a 5xx, and the statuses of the retry policy. Any other error is thrown, such as another
/// 4xx, a redirect that is not followed, a wrong content type, a certificate that is not trusted, or a deadline that
/// has passed; when the user signs out, `.sessionExpired`.
///
/// A redirect to another origin takes `Last-Event-ID` along if that origin has sent the event with the identifier, but
/// no credentials.
///
/// While the events are not read, the connection is not read either.
public struct ServerSentEvents: AsyncSequence, Sendable {
    /// Opens the stream, with the last identifier and where that may go, until an instant, after a pause if it is
    /// opened again.
    let open:
        @Sendable (_ lastID: String, _ reach: EventIDReach, _ end: Instant?, _ pause: StreamPause?)
            async throws(ServiceError) -> StreamedResponse
    let time: any TimeSource
    /// The longest pause that the client's configuration allows a server to ask for.
    let longestPause: Duration
    let lastID: String
    /// The limit for one iteration, over all its connections.
    let deadline: Duration?
    /// The statuses after which the client connects again, beside those of a server that fails: what the retry policy
    /// names is a passing error here too.
    let passingStatuses: Set<Int>
    var isResumed: Bool
    /// Whether a first connection that fails is tried again, too.
    var waitsForStart = false
    var limit = 1 << 20
    /// Whether an event is the end; `nil` if any connection may end by itself.
    var isEnd: (@Sendable (ServerSentEvent) -> Bool)?

    /// Returns the events before the first one that satisfies the condition. Streams of language models, for example,
    /// end with the data `[DONE]`.
    ///
    /// A sequence that does not connect again, and whose connection ends before that event has come, throws
    /// `.transport` of the kind `.truncated`: what came is a part of the response.
    public func until(_ isEnd: @escaping @Sendable (ServerSentEvent) -> Bool) -> Self {
        var copy = self
        copy.isEnd = { [earlier = self.isEnd] in earlier?($0) ?? false || isEnd($0) }
        return copy
    }

    /// Returns the same events, connected again or not when the connection ends. By default only a GET is: a POST would
    /// be sent a second time.
    ///
    /// - Parameters:
    ///   - isResumed: Whether to connect again.
    ///   - waitsForStart: Whether that holds from the start, for example for an app that is started without a network:
    ///     a first connection that fails is then tried again as a later one would be. By default its error is thrown.
    public func reconnecting(_ isResumed: Bool = true, fromStart waitsForStart: Bool = false) -> Self {
        var copy = self
        (copy.isResumed, copy.waitsForStart) = (isResumed, isResumed && waitsForStart)
        return copy
    }

    /// Returns the same events, of which each may have at most that many bytes; 1 MiB by default. A larger one is
    /// `.transport` of the kind `.tooLarge`.
    public func maximumLength(_ bytes: Int) -> Self {
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
        private let events: ServerSentEvents
        private var parser: EventStreamParser
        private var chunks: StreamedResponse.Chunks.Iterator?
        private(set) var decoding: StreamDecoding?
        /// Why the last connection ended; `nil` before the first.
        private var lastEnd: ClientEvent.RetryReason?
        /// The pause before the next connection, once it has been announced.
        private var announced: StreamPause?
        /// When the iteration has to end.
        private var deadline: Instant?
        /// How many connections in a row have brought no event.
        private var failures = 0
        /// The session of the first connection.
        private var session: UUID?
        /// The origin of the present or the last connection.
        private var origin: Origin?
        /// Where the last identifier came from.
        private var reach = EventIDReach.anywhere
        private var isOver = false
        private var share = ReadingShare()

        init(_ events: ServerSentEvents) {
            self.events = events
            parser = EventStreamParser(limit: events.limit, lastID: events.lastID)
        }

        /// Returns the next event as soon as it is complete; `nil` at the end, and after an error.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(ServiceError) -> ServerSentEvent? {
            while let update = try await nextUpdate(isolation: actor) {
                if case .event(let event) = update { return event }
            }
            return nil
        }

        /// Returns what happens next; `nil` at the end, and after an error.
        mutating func nextUpdate(
            isolation actor: isolated (any Actor)?
        ) async throws(ServiceError) -> Update<ServerSentEvent>? {
            guard !isOver else { return nil }
            deadline = deadline ?? events.deadline.map(events.time.now.advanced(by:))
            do throws(ServiceError) {
                if let update = try await update(isolation: actor) { return update }
            } catch {
                throw fail(with: error.limited(to: events.deadline))
            }
            end()
            return nil
        }

        private mutating func update(
            isolation actor: isolated (any Actor)?
        ) async throws(ServiceError) -> Update<ServerSentEvent>? {
            while true {
                if share.needsLook(afterLineOf: parser.lastLength), share.isUsedUp(at: events.time.now) {
                    await Task.yield()
                }
                switch try parser.step() {
                case .event(let event):
                    failures = 0
                    guard events.isEnd?(event) ?? false else { return .event(event) }
                    chunks?.stream.finish()
                    return nil
                case .line: continue
                case .end: break
                }
                guard chunks != nil else {
                    if let wait = announceWait() { return wait }
                    switch try await connect() {
                    case .connected(let headers): return .connected(headers)
                    case .failed: continue
                    case .over: return nil
                    }
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
                guard events.isResumed else {
                    guard hasEnd() else { throw Self.isCut }
                    chunks?.stream.finish()
                    return nil
                }
                chunks = nil
                if parser.hasNamedID, let origin { reach = .source(origin) }
                parser.restart()
            }
        }

        /// Decides on the pause after a connection that has ended; `nil` if there was none, or if the pause is decided.
        private mutating func announceWait() -> Update<ServerSentEvent>? {
            guard let lastEnd, announced == nil else { return nil }
            let wait = StreamPause(duration: pause, reason: lastEnd, session: session)
            announced = wait
            let error: ServiceError? = if case .failure(let error) = lastEnd { error } else { nil }
            return .waiting(after: error, pause: wait.duration)
        }

        private enum Connection {
            case connected(HTTPHeaders)
            /// It may succeed later.
            case failed
            /// The server has no more events.
            case over
        }

        /// Opens the stream, after the pause if one was announced.
        private mutating func connect() async throws(ServiceError) -> Connection {
            do throws(ServiceError) {
                let before = announced
                announced = nil
                failures += 1
                let response = try await events.open(parser.lastID, reach, deadline, before)
                guard response.status != 204 else {
                    guard events.isResumed || events.isEnd == nil else {
                        throw response.chunks.stream.fail(with: Self.isCut)
                    }
                    response.chunks.stream.finish()
                    return .over
                }
                try response.checkIsEventStream()
                (decoding, session, origin) = (response.decoding, response.session, response.origin)
                if !events.isResumed, events.isEnd != nil { response.chunks.stream.leaveEndToReader() }
                chunks = response.chunks.makeAsyncIterator()
                return .connected(response.headers)
            } catch {
                let isPassing = error.status.map(events.passingStatuses.contains) ?? false
                let isLater = lastEnd != nil || events.waitsForStart
                guard isLater, error.isWorthReconnecting || isPassing else { throw error }
                lastEnd = .failure(error)
                return .failed
            }
        }

        /// Returns whether a stream that does not connect again has ended with the event that has to be the last one.
        /// Some servers leave out the blank line after it, so that line is added here.
        private mutating func hasEnd() -> Bool {
            guard let isEnd = events.isEnd else { return true }
            parser.append(Data("\n\n".utf8))
            // An event that is too large is not the end.
            return (try? parser.next()).map(isEnd) ?? false
        }

        /// The error for a stream whose end has not come.
        private static var isCut: ServiceError {
            let message = "the stream ended before the event that `until` waits for"
            return .transport(TransportFailure(.truncated, message))
        }

        /// The pause before the next connection.
        private var pause: Duration {
            let pause = EventPause(asked: parser.pause, failures: failures, longest: events.longestPause)
            return pause.duration(random: events.time.randomFraction())
        }

        private mutating func end() {
            isOver = true
            // Releasing the response ends its call.
            chunks = nil
        }

        /// Ends the sequence with an error, and the present call too. Returns the error, which names that call.
        mutating func fail(with error: ServiceError) -> ServiceError {
            defer { end() }
            return chunks?.fail(with: error) ?? error
        }
    }
}

extension StreamedResponse {
    /// Throws unless the content type is that of event streams.
    fileprivate func checkIsEventStream() throws(ServiceError) {
        let type = MediaType(headers["Content-Type"] ?? "no content type")
        guard !type.isNamed("text/event-stream") else { return }
        let found = decoding.redactor().beginning(of: type.name.utf8, length: 200).text
        let failure = DecodingFailure(path: "", expected: "text/event-stream", found: found, status: status)
        throw chunks.stream.fail(with: .decodingFailed(failure))
    }
}

extension ServiceError {
    /// The same error, with the deadline that was set: that of a single connection is what was left of it.
    fileprivate func limited(to deadline: Duration?) -> ServiceError {
        guard case .timedOut(var timeout) = self, timeout.bound == .deadline, let deadline else { return self }
        timeout.limit = deadline
        return .timedOut(timeout)
    }
}
