public import Errand

/// A suite that any transport can be held to: what a client relies on, over real connections to a `LoopbackServer`.
///
/// It belongs in a test of the transport's own:
///
///     @Test(arguments: TransportConformance.all)
///     func conforms(_ rule: TransportConformance.Case) async throws {
///         try await rule.check { MyTransport() }
///     }
///
/// A case has a server of its own and asks for a transport of its own, so all of them may run at once. Everything goes
/// over plain HTTP to 127.0.0.1. Some cases are about time and let a second of it pass; their bounds are wide enough
/// for a busy machine. A transport that does not stream bodies is held to `whole` only.
public enum TransportConformance {
    /// All cases.
    public static let all: [Case] = whole + streamed

    /// The cases about bodies that are delivered whole: calls of a client that decodes what it gets.
    public static let whole: [Case] = cancellation + failures + framing + answers + connections + requests + redirects

    /// The cases about bodies that come and go in pieces.
    public static let streamed: [Case] = streams

    /// One thing that must hold.
    public struct Case: Sendable, CustomStringConvertible {
        /// The number of the rule in the catalogue: `C31`. Several cases may be about one rule.
        public let number: String
        /// What must hold, as a sentence.
        public let title: String
        private let body: @Sendable (ConformanceScene) async throws -> Void

        init(_ number: String, _ title: String, _ body: @escaping @Sendable (ConformanceScene) async throws -> Void) {
            self.number = number
            self.title = title
            self.body = body
        }

        /// The number and the sentence.
        public var description: String { "\(number): \(title)" }

        /// Holds a transport to the case; throws a `Violation` where it does something else, or does not end at all.
        ///
        /// The transport is made for the case and shut down after it. A case that is cancelled ends at once.
        public func check(_ make: @Sendable () throws -> any Transport) async throws {
            let transport = try make()
            let server = try LoopbackServer()
            defer { server.close() }
            let (outcomes, outcome) = AsyncStream.makeStream(
                of: Result<Void, any Error>.self, bufferingPolicy: .bufferingOldest(1))
            // Not a child: a transport that hangs would hold up whoever waits for its child. It ends when the
            // transport lets go of it.
            let run = Task {
                let result: Result<Void, any Error>
                do {
                    result = .success(try await body(ConformanceScene(server: server, transport: transport)))
                } catch {
                    result = .failure(error)
                }
                await transport.shutdown()
                outcome.yield(result)
            }
            let end = SystemTime.system.now.advanced(by: ConformanceScene.longest)
            let alarm = SystemTime.system.schedule(at: end, for: .watch) {
                outcome.yield(.failure(Surprise("an end", "nothing within \(ConformanceScene.longest)")))
            }
            defer {
                alarm.cancel()
                run.cancel()
            }
            var first = outcomes.makeAsyncIterator()
            guard case .failure(let error) = await first.next() ?? .failure(CancellationError()) else { return }
            if Task.isCancelled { throw CancellationError() }
            let surprise = error as? Surprise ?? Surprise("no error", "\(String(reflecting: error))")
            throw Violation(rule: description, expected: surprise.expected, seen: surprise.seen)
        }
    }

    /// A transport that does not do what a case asks for.
    public struct Violation: Error, Sendable, Hashable, CustomStringConvertible {
        /// The case: its number and its sentence.
        public let rule: String
        /// What should have been.
        public let expected: String
        /// What was.
        public let seen: String

        /// All of it, for the one who reads the test's failure.
        public var description: String { "\(rule)\nexpected: \(expected)\nseen: \(seen)" }
    }

    /// What a case found; the case adds which it is.
    struct Surprise: Error {
        let expected: String
        let seen: String

        init(_ expected: String, _ seen: String) {
            self.expected = expected
            self.seen = seen
        }
    }
}
