import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Several servers, and failing ones", .timeLimit(.minutes(10)))
struct SeveralServersSamples {
    @Test("a client of two servers")
    func twoServers() async throws {
        let tokens = TokenStore()
        func run() async throws -> [User] {
            let client = APIClient(.servers("https://api.example.com/v1", "https://backup.example.net/v1")) {
                $0.tokens = tokens
            }
            let friends = try await client.run(.friends)
            return friends
        }
        // Nobody has signed in.
        await #expect(throws: ServiceError.signInRequired) { try await run() }
    }

    @Test("keys that servers share, and the choice of a server")
    func rules() {
        func shared() -> APIClient {
            let client = APIClient(.servers("https://eu.example.com", "https://us.example.com")) {
                $0.servers.shareKeys = true
            }
            return client
        }
        func back() -> APIClient {
            let client = APIClient(.servers("https://api.example.com", "https://backup.example.net")) {
                $0.servers.choice = .inOrder(returningAfter: .seconds(600))
            }
            return client
        }
        func hedging() -> APIClient {
            let client = APIClient(.servers("https://eu.example.com", "https://us.example.com")) {
                $0.hedging = .after(.percentile(95))
            }
            return client
        }
        #expect(hedging().configuration.hedging == .after(.percentile(95)))
        let fixed = HedgingPolicy.after(.fixed(.milliseconds(200)))
        #expect(fixed.description == "after 200 ms, and 0.05 times for each success")
        func documented() -> APIClient {
            let client = APIClient(.servers("https://api.example.com/v1", "https://backup.example.net/v1")) {
                $0.servers.choice = .inOrder(returningAfter: .seconds(600))
            }
            return client
        }
        func probed() -> APIClient {
            let client = APIClient(.servers("https://api.example.com/v1", "https://backup.example.net/v1")) {
                $0.servers.probe = "health"
            }
            return client
        }
        #expect(probed().configuration.servers.probe == "health")
        func plain() -> APIClient {
            let client = APIClient(.servers("https://api.example.com/v1", "https://backup.example.net/v1"))
            return client
        }
        #expect(shared().configuration.servers.shareKeys)
        #expect(back().configuration.servers.choice.description == "in order, and back after 600 s")
        #expect(documented().configuration.environment.otherBaseURLs == ["https://backup.example.net/v1"])
        #expect(plain().configuration.servers == ServerRules())
    }

    @Test("a call for one server")
    func oneServer() async throws {
        let network = scripted()
        network.on(.get, "https://media.example.com/*") { ScriptedReply.status(200, body: "photo").times(2) }
        func photo() async throws -> Data {
            let client = APIClient(.servers("https://api.example.com", "https://media.example.com"))
            let photo = try await client.run(Endpoint<Data>.get("photos/7").server("https://media.example.com"))
            return photo
        }
        func image(_ id: Int) async throws -> Data {
            let client = APIClient(.servers("https://api.example.com", "https://media.example.com"))
            let image = try await client.run(Endpoint<Data>.get("images/\(id)").server("https://media.example.com"))
            return image
        }
        _ = (photo, image)
        let client = APIClient(.servers("https://api.example.com", "https://media.example.com")) {
            $0.transport = network
        }
        for path in ["photos/7", "images/7"] as [EndpointPath] {
            let endpoint = Endpoint<Data>.get(path).server("https://media.example.com")
            #expect(try await client.run(endpoint) == Data("photo".utf8))
        }
    }

    @Test("a breaker")
    func breaker() async throws {
        func titles() async -> [String] {
            let client = APIClient("https://recommendations.internal.example") {
                $0.breaker = .standard
            }
            var titles = ["Our classics"]
            do {
                titles = try await client.run(Endpoint<[String]>.get("for-you").deadline(.milliseconds(800)))
            } catch .transport(let failure) where failure.kind == .circuitOpen {
                print("try again in \(failure.retryAfter ?? .zero)")
            } catch {
                print(error)
            }
            return titles
        }
        _ = titles
        let network = scripted()
        network.onAny { ScriptedReply.status(503).always }
        let client = APIClient("https://recommendations.internal.example") {
            ($0.transport, $0.time, $0.retry) = (network, TestClock(), .never)
            ($0.breaker, $0.rateLimit) = (.standard, .unlimited)
        }
        for _ in 0..<20 { _ = try? await client.run(Endpoint<[String]>.get("for-you")) }
        let error = await #expect(throws: ServiceError.self) {
            try await client.run(Endpoint<[String]>.get("for-you").deadline(.milliseconds(800)))
        }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .circuitOpen && network.sent.count == 20)
        let line = client.servers.snapshot.map { "\($0)" }.first
        #expect(line?.hasPrefix("https://recommendations.internal.example: not to be asked for another ") == true)
    }

    private func show(_ client: APIClient) {
        for server in client.servers.snapshot {
            print(server)  // https://api.example.com/v1: set aside for another 9.4 s
        }
        for server in client.servers.snapshot { print(server) }
    }

    @Test func theBackupResponds() async throws {
        let (clock, network) = (TestClock(), ScriptedTransport())
        network.on(.get, "https://a.test/*", .failure(.refused))
        network.on(.get, "https://b.test/*", .json("[]").always)
        let client = APIClient(.servers("https://a.test", "https://b.test")) {
            ($0.transport, $0.time) = (network, clock)
        }
        #expect(try await client.run(.friends).isEmpty)
        #expect(network.sent.map(\.request.url.origin.host) == ["a.test", "b.test"])
    }
}
