extension ServerSentEvents {
    /// What happens to an event stream: an event has come, or its connection is there or gone.
    public enum Update<Event: Sendable>: Sendable {
        /// It is connected, and the response has these header fields. Events from the time without a connection are
        /// missing, unless the server sends those after `Last-Event-ID`.
        case connected(HTTPHeaders)
        /// The connection could not be opened, or is gone, and the next one is opened after this pause. The error is
        /// `nil` if the server has ended the response.
        case waiting(after: ServiceError?, pause: Duration)
        /// An event, or its data as a value.
        case event(Event)
    }

    /// The events, and between them the state of the connection, for a screen that shows it.
    ///
    ///     for try await update in client.events(.get("feed")).reconnecting(fromStart: true).updates {
    ///         switch update {
    ///         case .connected: isLive = true
    ///         case .waiting: isLive = false
    ///         case .event(let event): show(event.data)
    ///         }
    ///     }
    public var updates: Updates<ServerSentEvent> { Updates(events: self) { event, _, _ in event } }

    /// The events of a stream, and the state of its connection, as an asynchronous sequence.
    public struct Updates<Event: Sendable>: AsyncSequence, Sendable {
        let events: ServerSentEvents
        /// Reads an event, of which the number is known.
        let read: @Sendable (ServerSentEvent, Int, StreamDecoding) throws(ServiceError) -> Event

        /// Creates an iterator, which connects when its first update is asked for.
        public func makeAsyncIterator() -> Iterator {
            Iterator(events: events.makeAsyncIterator(), read: read)
        }

        /// Reads an event stream update by update.
        public struct Iterator: AsyncIteratorProtocol {
            private var events: ServerSentEvents.Iterator
            private let read: @Sendable (ServerSentEvent, Int, StreamDecoding) throws(ServiceError) -> Event
            private var number = 0

            init(
                events: ServerSentEvents.Iterator,
                read: @escaping @Sendable (ServerSentEvent, Int, StreamDecoding) throws(ServiceError) -> Event
            ) {
                self.events = events
                self.read = read
            }

            /// Returns the next update as soon as it is known; `nil` at the end, and after an error.
            public mutating func next(
                isolation actor: isolated (any Actor)? = #isolation
            ) async throws(ServiceError) -> Update<Event>? {
                guard let update = try await events.nextUpdate(isolation: actor) else { return nil }
                switch update {
                case .connected(let headers): return .connected(headers)
                case .waiting(let error, let pause): return .waiting(after: error, pause: pause)
                case .event(let event):
                    guard let decoding = events.decoding else { return nil }
                    number += 1
                    do throws(ServiceError) {
                        return .event(try read(event, number, decoding))
                    } catch {
                        throw events.fail(with: error)
                    }
                }
            }
        }
    }
}

extension StreamedResponse {
    /// The body as server-sent events, for a program that needs the head of the response too.
    ///
    ///     let response = try await client.stream(.post("chat", body: .json(["question": "Why?"])))
    ///     let requestID = response.headers["X-Request-Id"]
    ///     for try await event in response.events.until({ $0.data == "[DONE]" }) { show(event.data) }
    ///
    /// They end with the body, and nothing connects again, unlike those of the method of the client. Like ``chunks``,
    /// the body can be iterated once.
    public var events: ServerSentEvents {
        ServerSentEvents(
            open: { _, _, _, _ in self }, time: chunks.stream.time, longestPause: .zero, lastID: "", deadline: nil,
            passingStatuses: [], isResumed: false)
    }
}
