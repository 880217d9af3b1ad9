import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

/// A mistake that programs make, and what their developer reads then.
struct Mistake: Sendable, CustomTestStringConvertible {
    /// The heading of the section about it in the article.
    let heading: String
    /// Makes the mistake, and returns the message.
    let message: @Sendable () async throws -> String

    var testDescription: String { heading }

    private init(_ heading: String, message: @escaping @Sendable () async throws -> String) {
        (self.heading, self.message) = (heading, message)
    }

    /// Creates a mistake that makes a call fail; the message is what `print` shows of its error.
    init(_ heading: String, _ call: @escaping @Sendable () async throws -> Void) {
        self.init(heading) {
            let error = await #expect(throws: (any Error).self) { try await call() }
            return error.map { "\($0)" } ?? "no error"
        }
    }

    /// Creates a mistake that something else reports.
    static func reported(
        _ heading: String, _ message: @escaping @Sendable () async throws -> String
    ) -> Mistake {
        Mistake(heading, message: message)
    }

    /// All mistakes that are made when a program runs.
    static let atRunTime = requests + connections + responses + sessions + tests
}

/// The model that the article decodes.
struct Person: Codable, Sendable {
    var id: Int
    var name: String
}

extension Endpoint where Response == Person {
    static var person: Self { .get("users/7") }
}

/// Creates the client that the article has, with a network that answers so, in virtual time.
func client(
    _ replies: ScriptedReply..., at clock: TestClock = TestClock(),
    _ configure: (inout Configuration) -> Void = { _ in }
) -> APIClient {
    let network = scripted()
    // Without a reply, nothing may be sent.
    if !replies.isEmpty { network.onAny { replies } }
    return APIClient("https://api.example.com") {
        $0.transport = network
        $0.time = clock
        configure(&$0)
    }
}
