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
    ///     ``ServerSentEvents/reconnecting(_:)``.
    ///   - lastID: The identifier of the last event that was received, to go on after it. A redirect takes it along.
    public nonisolated func events(_ endpoint: Endpoint<Data>, after lastID: String = "") -> ServerSentEvents {
        eventStream(endpoint, after: lastID)
    }

    /// Returns the events of a server's event stream.
    public nonisolated func events<Response>(
        _ endpoint: Endpoint<Response>, after lastID: String = ""
    ) -> ServerSentEvents {
        eventStream(endpoint, after: lastID)
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

    private nonisolated func eventStream<Response>(
        _ endpoint: Endpoint<Response>, after lastID: String
    ) -> ServerSentEvents {
        var endpoint = endpoint
        endpoint.headers["Accept"] = "text/event-stream"
        // As browsers do. `no-store` keeps a cache from storing the answer, but not from giving one that it has.
        endpoint.headers["Cache-Control"] = endpoint.headers["Cache-Control"] ?? "no-cache"
        endpoint.options.timeout = endpoint.options.timeout ?? .seconds(60)
        let (time, call) = (configuration.time, endpoint)
        return ServerSentEvents(
            open: { lastID, reach, end, pause async throws(ServiceError) in
                var call = call
                // Spaces and tabs around a field's value are not part of it. An identifier that cannot be sent at all
                // is left out: the server has chosen it, so the call is not to blame.
                let id = lastID.trimmed
                if !id.isEmpty, HTTPSyntax.isFieldValue(id) { call.headers["Last-Event-ID"] = id }
                if let end { call.options.deadline = max(.zero, time.now.duration(to: end)) }
                // The next connection is the retry, after a pause that grows. More of them at once would press a server
                // that is down, and use up the retries of the client's other calls.
                if pause != nil { call.options.retry = .never }
                return try await self.open(call, after: pause, eventIDs: reach)
            },
            time: time, longestPause: configuration.longestServerPause, lastID: lastID,
            deadline: endpoint.options.deadline ?? configuration.deadline,
            passingStatuses: (endpoint.options.retry ?? configuration.retry).statuses,
            isResumed: endpoint.method == .get)
    }
}

extension ServerSentEvents {
    /// Returns the data of the events as values, like ``APIClient/events(_:of:after:)``.
    public func decoded<Message: Decodable & Sendable>(_ type: Message.Type) -> Messages<Message> {
        Messages(events: self)
    }

    /// The values in the data of events, as an asynchronous sequence.
    public struct Messages<Message: Decodable & Sendable>: AsyncSequence, Sendable {
        let events: ServerSentEvents

        /// Returns the values before the first event that satisfies the condition, which is not decoded.
        ///
        ///     let answer = client.events(question, of: Part.self).until { $0.data == "[DONE]" }
        ///     for try await part in answer { show(part) }
        public func until(_ isEnd: @escaping @Sendable (ServerSentEvent) -> Bool) -> Self {
            Messages(events: events.until(isEnd))
        }

        /// Creates an iterator, which connects when its first value is asked for.
        public func makeAsyncIterator() -> Iterator {
            Iterator(events: events.makeAsyncIterator())
        }

        /// Reads an event stream value by value.
        public struct Iterator: AsyncIteratorProtocol {
            /// How much of an identifier an error shows.
            private static var shownLength: Int { 100 }

            private var events: ServerSentEvents.Iterator
            private var number = 0

            init(events: ServerSentEvents.Iterator) {
                self.events = events
            }

            /// Returns the next value as soon as it has come; `nil` at the end, and after an error.
            public mutating func next(
                isolation actor: isolated (any Actor)? = #isolation
            ) async throws(ServiceError) -> Message? {
                guard let event = try await events.next(isolation: actor), let decoding = events.decoding else {
                    return nil
                }
                number += 1
                do throws(ServiceError) {
                    return try decoding.value(Message.self, in: Data(event.data.utf8)) { redactor in
                        guard !event.id.isEmpty else { return "event \(number)" }
                        let (id, isCut) = redactor.beginning(of: event.id.utf8, length: Self.shownLength)
                        return "the event with the identifier \(id)\(isCut ? "…" : "")"
                    }
                } catch {
                    throw events.fail(with: error)
                }
            }
        }
    }
}

extension StreamedResponse {
    /// Throws unless the content type is that of event streams.
    func checkIsEventStream() throws(ServiceError) {
        let type = MediaType(headers["Content-Type"] ?? "no content type")
        guard !type.isNamed("text/event-stream") else { return }
        let found = decoding.redactor().beginning(of: type.name.utf8, length: 200).text
        let failure = DecodingFailure(path: "", expected: "text/event-stream", found: found, status: status)
        throw chunks.stream.fail(with: .decodingFailed(failure))
    }
}

extension ServiceError {
    /// The same error, with the deadline that was set: that of a single connection is what was left of it.
    func limited(to deadline: Duration?) -> ServiceError {
        guard case .timedOut(let timeout) = self, timeout.bound == .deadline, let deadline else { return self }
        var whole = Timeout(
            .deadline, limit: deadline, phase: timeout.phase, mayHaveReachedServer: timeout.mayHaveReachedServer)
        whole.call = timeout.call
        return .timedOut(whole)
    }
}
