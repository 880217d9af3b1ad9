import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

// More samples in the doc comments of the sources: what is sent and received besides plain values.

private struct Note: Codable, Sendable {
    var title: String
}

extension Endpoint where Response == Note {
    fileprivate static func note(_ id: Int) -> Self { .get("notes/\(id)") }
}

private struct OutOfCredit: Decodable, Sendable {
    var balance: Int
}

private func problem(_ rejection: Rejection) throws {
    if let problem = rejection.problem, problem.type == "https://example.com/probs/out-of-credit" {
        let account = try rejection.decodeBody(as: OutOfCredit.self)
        print(account)
    }
}

private func warm(_ client: APIClient) async throws {
    try await client.warmUp(connections: 4)
}

private func version(_ client: APIClient, _ changed: Note) async throws {
    let reply = try await client.reply(to: .note(7))
    if let version = reply.etag {
        try await client.run(.put("notes/7", body: .json(changed)).ifMatch(version))
    }
}

private func conditions(_ client: APIClient, _ note: Note, _ version: EntityTag) async throws {
    try await client.run(.put("notes/7", body: .json(note)).ifMatch(version))
    try await client.run(.put("notes/7", body: .json(note)).ifNoneMatch(.any))
}

private struct Contact: Codable, Sendable {
    var email: String?
}

private func changes(_ client: APIClient, _ user: Contact) async throws {
    var changed = user
    changed.email = nil
    try await client.run(.patch("users/7", body: .mergePatch(from: user, to: changed)))  // {"email":null}
    try await client.run(.put("users/7", body: .json(user, explicitNulls: true)))  // "email": null
    let patch: JSONPatch = [.test("/version", 3), .replace("/title", "Milk"), .remove("/tags/0")]
    try await client.run(.patch("notes/7", body: .jsonPatch(patch)))
}

private struct Viewer: Decodable, Sendable {
    var name: String?
}

private func graphQL(_ client: APIClient, _ id: User.ID) async throws -> User {
    let query = "query($id: ID!) { user(id: $id) { id name } }"
    let user: User = try await client.run(.graphQL(query, variables: ["id": id]).unwrapping("user"))
    return user
}

private func partialData(_ client: APIClient) async throws {
    let reply = try await client.run(Endpoint<GraphQLReply<Viewer>>.graphQL("{ name friends }"))
    if !reply.errors.isEmpty { print("some is missing: \(reply.errors)") }
}

/// In here, for other samples have types of the same names.
private enum Opening {
    enum Status: String, Sendable { case active, closed }

    struct Membership: Decodable, Sendable {
        let status: Open<Status>
    }

    static func show(_ membership: Membership) {
        switch membership.status {
        case .known(.active): print("active")
        case .known(.closed): print("closed")
        case .unknown(let text): print("something new: \(text)")
        }
    }
}

struct StripeError: Decodable, Sendable {
    let code: String?
}

private func stripe() -> APIClient {
    let client = APIClient("https://api.stripe.com/v1") {
        $0.errorDetails = .decoding(StripeError.self, below: "error")
    }
    return client
}

private func pay(_ client: APIClient, _ showOtherCards: () -> Void) async throws {
    do {
        try await client.run(.post("charges"))
    } catch {
        switch error.details(as: StripeError.self)?.code {
        case "card_declined": showOtherCards()
        default: throw error
        }
    }
}
