import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

/// A client of servers in virtual time: `a.test`, `b.test` and `c.test`.
protocol ServersScene {
    var clock: TestClock { get }
    var network: ScriptedTransport { get }
}

extension ServersScene {
    var call: Endpoint<Int> { .get("x") }
    var a: String { "https://a.test/v1" }
    var b: String { "https://b.test" }

    func client(
        _ environment: ServerEnvironment? = nil, _ configure: (inout Configuration) -> Void = { _ in }
    ) -> APIClient {
        testClient(network, clock) {
            $0.environment = environment ?? .servers(a, b)
            configure(&$0)
        }
    }

    /// The hosts that were asked.
    var hosts: [String] { network.sent.map { String($0.request.url.origin.host.prefix(1)) } }

    func failure(of call: Endpoint<Int>, _ client: APIClient) async throws -> ServiceError {
        try await #require(throws: ServiceError.self) { try await client.run(call) }
    }

    func run(_ count: Int, _ client: APIClient, every pause: Duration = .zero) async throws {
        for _ in 0..<count {
            _ = try await client.run(call)
            if pause > .zero { try await clock.sleep(until: clock.now.advanced(by: pause)) }
        }
    }
}

/// The events of a client.
final class EventLog: Sendable {
    private let events = Noted<[ClientEvent]>([])

    func note(_ event: ClientEvent) { events.update { $0.append(event) } }

    /// How long servers were set aside.
    var aside: [Duration] {
        events.value.compactMap { event in
            if case .serverSetAside(_, let pause) = event.kind { pause } else { nil }
        }
    }

    var lines: [String] { events.value.map { LogFormatter().line(for: $0) } }
}
