import Errand
public import ErrandFleet

/// A test suite for the stores of a fleet: what the shared limits and the shared sessions rely on.
///
/// Run it in a test of your store:
///
///     @Test(arguments: FleetStoreConformance.all)
///     func conforms(_ rule: FleetStoreConformance.Case) async throws {
///         try await rule.check { MyFleetStore("127.0.0.1:5432") }
///     }
///
/// Each case uses keys that begin with `conformance/` and a random name, so all cases may run in parallel and beside
/// others, and removes its records at the end.
public enum FleetStoreConformance {
    /// All cases.
    public static let all: [Case] = records + conditions + changes

    /// One requirement.
    public struct Case: Sendable, CustomStringConvertible {
        /// The number of the case, such as `S3`, which stays the same in later versions.
        public let number: String
        /// The requirement, as a sentence.
        public let title: String
        private let body: @Sendable (FleetStoreScene) async throws -> Void

        init(_ number: String, _ title: String, _ body: @escaping @Sendable (FleetStoreScene) async throws -> Void) {
            self.number = number
            self.title = title
            self.body = body
        }

        /// The number, and the sentence.
        public var description: String { "\(number): \(title)" }

        /// Checks a store. Throws a `Violation` if it does not meet the requirement, or does not end at all.
        ///
        /// `open` opens the store. It is called several times, as several nodes would do it, and has to lead to the
        /// same records each time.
        public func check(_ open: @Sendable () async throws -> any FleetStore) async throws {
            let nodes = try await [open(), open(), open()]
            let scene = FleetStoreScene(nodes)
            let (outcomes, outcome) = AsyncStream.makeStream(
                of: Result<Void, any Error>.self, bufferingPolicy: .bufferingOldest(1))
            // Not a child task: waiting for the child of a store that hangs would never end. The task ends when the
            // store releases it.
            let run = Task {
                let result: Result<Void, any Error>
                do {
                    result = .success(try await body(scene))
                } catch {
                    result = .failure(error)
                }
                await scene.removeAll()
                outcome.yield(result)
            }
            let end = SystemTime.system.now.advanced(by: FleetStoreScene.longest)
            let alarm = SystemTime.system.schedule(at: end, for: .watch) {
                outcome.yield(.failure(FleetStoreScene.Surprise("an end", "nothing within \(FleetStoreScene.longest)")))
            }
            defer {
                alarm.cancel()
                run.cancel()
            }
            var first = outcomes.makeAsyncIterator()
            guard case .failure(let error) = await first.next() ?? .failure(CancellationError()) else { return }
            if Task.isCancelled { throw CancellationError() }
            let surprise =
                error as? FleetStoreScene.Surprise
                ?? FleetStoreScene.Surprise("no error", "\(String(reflecting: error))")
            throw Violation(rule: description, expected: surprise.expected, seen: surprise.seen)
        }
    }

    /// The violation of a requirement by a store.
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
}
