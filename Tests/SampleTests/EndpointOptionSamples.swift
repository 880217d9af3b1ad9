import Errand
import ErrandTesting

// The samples in the doc comments of the options of endpoints and clients.

private struct Photo: Decodable, Sendable {}

private func accepting(_ id: Int, _ client: APIClient) async throws -> Photo? {
    let photo = try await client.run(Endpoint<Photo?>.get("photos/\(id)").accepting(404))
    return photo
}

private func user(_ id: Int, _ client: APIClient) async throws -> User? {
    let user = try await client.run(Endpoint<User?>.get("users/\(id)").accepting(404))
    return user
}

private func redirects() async throws -> String? {
    let client = APIClient("https://api.example.com") {
        $0.redirects = .following { !$0.leavesOrigin }
    }
    let reply = try await client.reply(to: Endpoint<NoContent>.get("download").redirects(.never).accepting(302))
    let address = reply.headers["Location"]
    return address
}

private func retries() -> [RetryPolicy] {
    func detailed() -> RetryPolicy {
        let policy = RetryPolicy(attempts: 3).retrying { attempt in
            attempt.isTransient && attempt.headers["X-Maintenance"] == nil || attempt.status == 409
        }
        return policy
    }
    let policy = RetryPolicy.standard.retrying { $0.isTransient || $0.status == 409 }
    return [policy, detailed()]
}

private func links(_ reply: Reply<[User]>, _ client: APIClient) async throws {
    func show(_ users: [User]) {}
    if let last = reply.link("last") {
        show(try await client.run(Endpoint<[User]>.get(url: last)))
    }
}

private func sharedLimits(_ tokens: TokenStore) -> APIClient {
    let shared = RateLimiter(.requests(50, per: .seconds(1)))
    let client = APIClient("https://api.example.com") {
        $0.tokens = tokens  // of one user
        $0.limiter = RateLimiter(.requests(5, per: .seconds(1)), within: shared)
    }
    return client
}

extension Endpoint where Response == [User] {
    fileprivate static func users(named name: String) -> Self { .get("users", query: ["name": name]) }
}

private func delayed(_ text: String, _ client: APIClient) async throws -> [User] {
    let search = LatestOnly(after: .milliseconds(300))
    let found = try await search.run { try await client.run(.users(named: text)) }
    return found
}

private func gracefully(_ client: APIClient) async {
    await client.shutdown(within: .seconds(10))
}

private func everyRequest(_ network: ScriptedTransport) {
    network.onAny { request in
        request.method == .get ? .json("[]").after(.milliseconds(80)) : .status(405)
    }
}

private struct Pet: Encodable {}
extension Pet: JSONMember {}

private func objects(_ name: String, _ age: Int, _ tags: [String]) {
    func inArticle() {
        let nested = RequestBody.json(["user": ["name": name, "age": age]])
        let body = RequestBody.json(["name": "Bo", "pets": [["name": "Rex", "age": 4], "none"]])
        _ = (nested, body)
    }
    func inComment() {
        let body = RequestBody.json(["user": ["name": name, "age": age]])
        _ = body
    }
    let body: RequestBody = .json(["user": ["name": name, "age": age], "tags": tags])
    let list: JSONObject = ["users": [["name": name], ["age": age]] as [JSONObject]]
    _ = (body, list)
}
