import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Synchronization
import Testing

func advice(on error: ServiceError) -> String? {
    switch error {
    case .cancelled: nil  // the response is not needed
    case _ where error.needsSignIn: "Sign in, please."
    case .rejected(let rejection) where !rejection.fieldErrors.isEmpty:
        "Look at the fields that are marked."
    case .invalidRequest, .decodingFailed: "This app has a mistake: \(error)"
    default: error.localizedDescription
    }
}

func message(for error: ServiceError, in french: [String: String]) -> String {
    let sentences = error.sentences.map { sentence in
        let text = french[sentence.key] ?? sentence.text(in: "en")
        return sentence.number.map { text.replacing("%lld", with: "\($0)") } ?? text
    }
    return error.serverMessage ?? sentences.joined(separator: " ")
}

struct Refusal: Decodable {
    var code: String
    var balance: Int
}

func attempt<Value: Sendable, Failure: Error>(
    _ operation: () async throws(Failure) -> Value, onFailure show: (Failure) -> Void
) async -> Value? {
    do throws(Failure) {
        return try await operation()
    } catch {
        show(error)
        return nil
    }
}

private struct FriendsOrNone {
    let client: APIClient

    func friends(of id: User.ID) async throws -> [User] {
        do {
            return try await client.run(.friends(of: id))
        } catch .rejected(let rejection) where rejection.status == 404 && rejection.code == "no_list" {
            return []
        } catch {
            throw error
        }
    }
}

private func showFailures(of client: APIClient, _ show: @escaping @Sendable (String?) -> Void) {
    let events = client.diagnostics  // before the first call, because an event without a listener is not kept
    Task {
        for await event in events {
            if let error = event.failure { show(advice(on: error)) }
        }
    }
}

@Suite("Errors")
struct ErrorSamples {
    @Test("a language of the app's own, and the advice")
    func french() throws {
        let table = ["serverFailure.unavailable": "Indisponible.", "advice.tryAgainInSeconds": "Attendez %lld s."]
        let error = ServiceError.serverFailure(Rejection(status: 503, retryAfter: .seconds(7)))
        #expect(message(for: error, in: table) == "Indisponible. Attendez 7 s.")
        #expect(message(for: .rejected(Rejection(status: 422, message: "déjà pris")), in: table) == "déjà pris")
        #expect(message(for: .signInRequired, in: table) == "You need to sign in first.")
        #expect(advice(on: .signInRequired) == "Sign in, please." && advice(on: .cancelled) == nil)
    }

    @Test("the documentation lists every key with its sentence")
    func keys() throws {
        let article = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Docs.docc/Types/ErrorSentence.md")
        let lines = try String(contentsOf: article, encoding: .utf8).split(separator: "\n")
        let listed = lines.compactMap { $0.wholeMatch(of: /"([\w.]+)" = ".+\.";/).map { String($0.1) } }
        #expect(listed == ErrorSentence.allKeys)
        let error = ServiceError.transport(TransportFailure(.reset))
        for sentence in error.sentences { #expect(lines.contains("\"\(sentence.key)\" = \"\(sentence)\";")) }
    }

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

    @Test("a helper of one's own that takes a closure")
    func helper() async {
        let network = scripted()
        network.on(.get, "/friends") { .status(404) }
        let client = testClient(network)
        var shown: [String] = []
        func show(_ text: String) { shown.append(text) }
        let friends = await attempt { () async throws(ServiceError) in
            try await client.run(.friends)
        } onFailure: { error in
            show(error.localizedDescription)
        }
        #expect(friends == nil)
        #expect(shown == [ServiceError.rejected(Rejection(status: 404)).localizedDescription])
    }

    @Test("a catch that covers some of the errors")
    func someErrors() async throws {
        let network = scripted()
        network.on(.get, "/users/7/friends") {
            ScriptedReply.json(#"{"code": "no_list"}"#, status: 404)
            ScriptedReply.json(#"{"code": "no_user"}"#, status: 404)
        }
        let list = FriendsOrNone(client: testClient(network))
        #expect(try await list.friends(of: 7).isEmpty)
        let error = await #expect(throws: ServiceError.self) { try await list.friends(of: 7) }
        #expect(error?.rejection?.code == "no_user")
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
        let (texts, text) = AsyncStream.makeStream(of: String.self)
        showFailures(of: client) { if let shown = $0 { text.yield(shown) } }
        _ = try? await client.run(.friends)
        let shown = await texts.first { _ in true }
        #expect(shown == ServiceError.rejected(Rejection(status: 404)).localizedDescription)
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
        #expect(advice(on: .noInternetConnection) == ServiceError.noInternetConnection.localizedDescription)
    }
}
