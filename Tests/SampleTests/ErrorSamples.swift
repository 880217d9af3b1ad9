import Errand
import ErrandTestSupport
import ErrandTesting
import Synchronization
import Testing

func advice(on error: ServiceError) -> String? {
    switch error {
    case .cancelled: nil  // the response is not needed
    case .signInRequired, .sessionExpired: "Sign in, please."
    case .noInternetConnection, .timedOut, .rateLimited, .serverFailure, .transport:
        "\(error.localizedDescription). Try again later."
    case .rejected(let rejection) where !rejection.fieldErrors.isEmpty:
        "Look at the fields that are marked."
    case .rejected, .paging: error.localizedDescription
    case .invalidRequest, .decodingFailed: "This app has a mistake: \(error)"
    }
}

struct Refusal: Decodable {
    var code: String
    var balance: Int
}

@Suite("Errors")
struct ErrorSamples {
    @Test("the fields that the server complains of")
    func fields() async throws {
        let network = scripted()
        network.on(.post, "/users") {
            ScriptedReply.json(#"{"errors": {"name": ["is taken"]}}"#, status: 422)
        }
        let client = testClient(network)
        var marked: [String: String] = [:]
        func mark(_ field: String, _ text: String) { marked[field] = text }
        func show(_ error: ServiceError) { Issue.record(error) }
        do {
            try await client.run(.signUp("Ann"))
        } catch .rejected(let rejection) where rejection.status == 422 {
            for (field, messages) in rejection.fieldErrors {
                mark(field, messages.joined(separator: ", "))
            }
        } catch {
            show(error)
        }
        #expect(marked == ["name": "is taken"])
    }

    @Test("the server's own type of error")
    func ownType() async throws {
        let network = scripted()
        network.on(.get, "/friends") { .json(#"{"code": "funds", "balance": 3}"#, status: 402) }
        let client = testClient(network)
        var found: Refusal?
        func show(_ users: [User]) { Issue.record("the refusal was taken for friends") }
        func show(_ refusal: Refusal?) { found = refusal }
        func show(_ error: ServiceError) { Issue.record(error) }
        do {
            show(try await client.run(.friends))
        } catch .rejected(let rejection) {
            show(try? rejection.decodeBody(as: Refusal.self))
        } catch {
            show(error)
        }
        #expect(found?.balance == 3)
    }

    @Test("cases by name in a closure")
    func closure() async throws {
        let network = scripted()
        network.on(.get, "/friends") { .status(404) }
        let client = testClient(network)
        let statuses = Mutex<[Int?]>([])
        @Sendable func show(_ users: [User]) { Issue.record("there are none") }
        @Sendable func show(_ error: ServiceError) { statuses.withLock { $0.append(error.status) } }
        let load = Task {
            do throws(ServiceError) {
                show(try await client.run(.friends))
            } catch .cancelled {
                // The result is not needed.
            } catch {
                show(error)
            }
        }
        await load.value
        #expect(statuses.withLock { $0 } == [404])
    }

    @Test("all failures in one place")
    func onePlace() async throws {
        let network = scripted()
        network.on(.get, "/friends") { .status(404) }
        let clock = TestClock()
        let client = testClient(network, clock)
        let events = client.events
        _ = try? await client.run(.friends)
        await client.shutdown()
        var shown: [String] = []
        func show(_ text: String?) { shown += text.map { [$0] } ?? [] }
        for await event in events {
            if let error = event.failure { show(advice(on: error)) }
        }
        #expect(shown == ["The server responded with 404 (Not Found); there is no such resource"])
    }

    @Test("names of one's own are secret")
    func ownSecretNames() {
        let client = APIClient("https://api.example.com") {
            $0.secretNames = ["partner_code"]
        }
        let text = client.explain(Endpoint<NoContent>.get("x", query: ["partnerCode": "p-4711"]))
        #expect(text.contains("partnerCode=‹redacted›"))
        #expect(!text.contains("4711"))
    }

    @Test("every case has its advice")
    func advices() {
        #expect(advice(on: .cancelled) == nil)
        #expect(advice(on: .noInternetConnection) == "No internet connection. Try again later.")
    }
}
