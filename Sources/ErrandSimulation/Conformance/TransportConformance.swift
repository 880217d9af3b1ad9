public import Errand

/// A test suite for transports: what a client relies on, over real connections to a `LoopbackServer`.
///
/// Run it in a test of your transport:
///
///     @Test(arguments: TransportConformance.all)
///     func conforms(_ rule: TransportConformance.Case) async throws {
///         try await rule.check { MyTransport() }
///     }
///
/// Each case has its own server and transport, so all cases may run in parallel. Everything goes over plain HTTP to
/// 127.0.0.1. Some cases are about time and take a second; their limits are generous enough for a busy machine. For a
/// transport that does not stream bodies, run only `whole`.
public enum TransportConformance {
    /// All cases.
    public static let all: [Case] = whole + streamed + features

    /// The cases about whole bodies: calls of a client that decodes responses.
    public static let whole: [Case] = cancellation + failures + framing + answers + connections + requests + redirects

    /// The cases about streamed bodies, in requests and in responses.
    public static let streamed: [Case] = streams + uploads

    /// The cases about what a transport says that it does by itself, in its `features`. They pass for one that says
    /// nothing.
    public static let features: [Case] = stops + permits + progress

    /// One requirement.
    public struct Case: Sendable, CustomStringConvertible {
        /// The number of the rule that the case checks, such as `C31`, which stays the same in later versions. Several
        /// cases may be about one rule.
        public let number: String
        /// The requirement, as a sentence.
        public let title: String
        private let body: @Sendable (ConformanceScene) async throws -> Void

        init(_ number: String, _ title: String, _ body: @escaping @Sendable (ConformanceScene) async throws -> Void) {
            self.number = number
            self.title = title
            self.body = body
        }

        /// The name of the rule, and the sentence.
        public var description: String { "\(number): \(title)" }

        /// Checks a transport. Throws a `Violation` if it does not meet the requirement, or does not end at all.
        ///
        /// The case creates the transport and shuts it down afterwards. A canceled case ends at once.
        public func check(_ make: @Sendable () throws -> any Transport) async throws {
            let server = try LoopbackServer()
            defer { server.close() }
            try await check(against: server, make)
        }

        /// The same, against that server, which nothing else may use.
        package func check(
            against server: LoopbackServer, _ make: @Sendable () throws -> any Transport
        ) async throws {
            let transport = try make()
            let (outcomes, outcome) = AsyncStream.makeStream(
                of: Result<Void, any Error>.self, bufferingPolicy: .bufferingOldest(1))
            // Not a child task: waiting for the child of a transport that hangs would never end. The task ends when the
            // transport releases it.
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

    /// The violation of a requirement by a transport.
    public struct Violation: Error, Sendable, Hashable, CustomStringConvertible {
        /// The case: its number and its sentence.
        public let rule: String
        /// What was expected.
        public let expected: String
        /// What happened instead.
        public let seen: String

        /// All of it, for the reader of the test's failure.
        public var description: String { "\(rule)\nexpected: \(expected)\nseen: \(seen)" }
    }

    /// The finding of a case, before the name of the case is added.
    struct Surprise: Error {
        let expected: String
        let seen: String

        init(_ expected: String, _ seen: String) {
            self.expected = expected
            self.seen = seen
        }
    }
}
