import Errand
import ErrandTesting
import Foundation

/// A model with members that a server may write in another way.
private struct Post: Decodable, Sendable {
    var createdAt: Date
}

extension Mistake {
    static let responses: [Mistake] = [
        Mistake("A path that does not exist") {
            try await client(.status(404, headers: ["Content-Type": "text/html"], body: "<h1>Not Found</h1>"))
                .run(.person)
        },
        Mistake("A server that refuses a field") {
            let body = #"{"message": "The name is taken", "errors": {"name": ["is taken"]}}"#
            try await client(.json(body, status: 422)).run(.post("users", body: .json(["name": "Ann"])))
        },
        Mistake("Too many requests") {
            let reply = ScriptedReply.status(429, headers: ["Retry-After": "120"])
            try await client(reply).run(.person)
        },
        Mistake("A server that fails") {
            let clock = TestClock()
            let client = client(.status(503).always, at: clock)
            try await clock.run { try await client.run(.person) }
        },
        Mistake("A page instead of JSON") {
            let page = ScriptedReply.status(
                200, headers: ["Content-Type": "text/html"], body: "<!DOCTYPE html><title>Sign in</title>")
            try await client(page).run(.person)
        },
        Mistake("No body") {
            try await client(.status(204)).run(.person)
        },
        Mistake("A member that is not there") {
            try await client(.json(#"{"id": 7}"#)).run(.person)
        },
        Mistake("Names with underscores") {
            try await client(.json(#"{"created_at": 790000000}"#)).run(Endpoint<Post>.get("posts/1"))
        },
        Mistake("Dates as text") {
            try await client(.json(#"{"createdAt": "2026-01-15T08:00:00Z"}"#)).run(Endpoint<Post>.get("posts/1"))
        },
        Mistake("A value of another type") {
            try await client(.json(#"{"id": "7", "name": "Ann"}"#)).run(.person)
        },
        Mistake("A value that is null") {
            try await client(.json(#"{"id": 7, "name": null}"#)).run(.person)
        },
        Mistake("A list inside an object") {
            let body = #"{"users": [{"id": 7, "name": "Ann"}], "total": 1}"#
            try await client(.json(body)).run(Endpoint<[Person]>.get("users"))
        },
        Mistake("An object that is a list") {
            try await client(.json(#"[{"id": 7, "name": "Ann"}]"#)).run(.person)
        },
        Mistake("A key that is not there") {
            try await client(.json(#"{"data": []}"#)).run(Endpoint<[Person]>.get("users").unwrapping("users"))
        },
        Mistake("A list that does not end") {
            let client = client(.json(#"[{"id": 7, "name": "Ann"}]"#).always) { $0.rateLimit = .unlimited }
            let list = Endpoint<[Person]>.get("users")
            for try await _ in client.items(of: list, by: .number("page"), pageLimit: 10) {}
        },
    ]
}
