#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension ServerSentEvents {
    /// Returns the data of the events as values, like ``APIClient/events(_:of:after:)``.
    public func decoded<Message: Decodable & Sendable>(_ type: Message.Type) -> Messages<Message> {
        Messages(events: self)
    }

    /// The values in the data of events, as an asynchronous sequence.
    public struct Messages<Message: Decodable & Sendable>: AsyncSequence, Sendable {
        /// How much of an identifier an error shows.
        private static var shownLength: Int { 100 }

        let events: ServerSentEvents

        /// Returns the values before the first event that satisfies the condition, which is not decoded.
        ///
        ///     let answer = client.events(question, of: Part.self).until { $0.data == "[DONE]" }
        ///     for try await part in answer { show(part) }
        public func until(_ isEnd: @escaping @Sendable (ServerSentEvent) -> Bool) -> Self {
            Messages(events: events.until(isEnd))
        }

        /// Returns the same values, connected again or not when the connection ends, like
        /// ``ServerSentEvents/reconnecting(_:fromStart:)``.
        public func reconnecting(_ isResumed: Bool = true, fromStart waitsForStart: Bool = false) -> Self {
            Messages(events: events.reconnecting(isResumed, fromStart: waitsForStart))
        }

        /// The values, and between them the state of the connection, like ``ServerSentEvents/updates``.
        public var updates: Updates<Message> {
            Updates(events: events) { (event, number, decoding) throws(ServiceError) in
                try decoding.value(Message.self, in: Data(event.data.utf8)) { redactor in
                    guard !event.id.isEmpty else { return "event \(number)" }
                    let (id, isCut) = redactor.beginning(of: event.id.utf8, length: Self.shownLength)
                    return "the event with the identifier \(id)\(isCut ? "…" : "")"
                }
            }
        }

        /// Creates an iterator, which connects when its first value is asked for.
        public func makeAsyncIterator() -> Iterator {
            Iterator(updates: updates.makeAsyncIterator())
        }

        /// Reads an event stream value by value.
        public struct Iterator: AsyncIteratorProtocol {
            private var updates: Updates<Message>.Iterator

            init(updates: Updates<Message>.Iterator) {
                self.updates = updates
            }

            /// Returns the next value as soon as it has come; `nil` at the end, and after an error.
            public mutating func next(
                isolation actor: isolated (any Actor)? = #isolation
            ) async throws(ServiceError) -> Message? {
                while let update = try await updates.next(isolation: actor) {
                    if case .event(let message) = update { return message }
                }
                return nil
            }
        }
    }
}
