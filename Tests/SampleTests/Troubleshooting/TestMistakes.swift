import Errand
import ErrandSimulation
import ErrandTestSupport
import Foundation

extension Mistake {
    static let tests: [Mistake] = [
        .reported("A request that no script expects") {
            try await reports { network in
                network.on(.get, "/users/7?sort=name", .json("[]"))
                try await client(network).run(.get("users/7", query: ["sort": "age"]))
            }
        },
        .reported("A script that is used twice") {
            try await reports { network in
                network.on(.get, "/users/7", .json(#"{"id": 7, "name": "Ann"}"#))
                _ = try await client(network).run(.person)
                _ = try await client(network).run(.person)
            }
        },
        .reported("A script that is not used") {
            try await reports { network in
                network.on(.get, "/users/7", .json("[]"))
            }
        },
        .reported("A clock that is not advanced") {
            let failures = Noted<[String]>([])
            let clock = TestClock(stallTimeout: .seconds(1)) { failure in
                failures.update { $0.append(failure.description) }
            }
            let network = ScriptedTransport { failure in failures.update { $0.append(failure.description) } }
            network.on(.get, "/users/7", .status(503), .json(#"{"id": 7, "name": "Ann"}"#))
            _ = try await APIClient("https://api.example.com") {
                $0.transport = network
                $0.time = clock
            }.run(.person)
            return failures.value.joined(separator: "\n")
        },
    ]

    private static func client(_ network: ScriptedTransport) -> APIClient {
        APIClient("https://api.example.com") { $0.transport = network }
    }

    /// Returns what a transport reports of a test, up to the end of the transport.
    private static func reports(_ test: (ScriptedTransport) async throws -> Void) async throws -> String {
        let failures = Noted<[String]>([])
        do {
            let network = ScriptedTransport { failure in failures.update { $0.append(failure.description) } }
            // The call fails too, with the same words.
            try? await test(network)
        }
        return failures.value.joined(separator: "\n")
    }
}
