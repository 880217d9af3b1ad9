import Errand
import ErrandTesting
import Foundation

extension Mistake {
    static let requests: [Mistake] = [
        Mistake("A base URL without a scheme") {
            try await APIClient("api.example.com").run(.person)
        },
        Mistake("A base URL with a query") {
            try await APIClient("https://api.example.com?api_key=1").run(.person)
        },
        Mistake("A URL as a path") {
            try await client().run(.get("https://api.example.com/users/7"))
        },
        Mistake("A query in a path") {
            try await client().run(.get("users?sort=name"))
        },
        Mistake("An empty value in a path") {
            let id = ""
            try await client().run(.get("users/\(id)"))
        },
        Mistake("A header that is twice in a literal") {
            try await client().run(.get("users", headers: ["Accept": "text/plain", "accept": "text/html"]))
        },
        Mistake("A header with a line break") {
            try await client().run(.get("users", headers: ["Authorization": "Bearer 3e1f\n"]))
        },
        Mistake("A header that the transport sets") {
            let body = RequestBody.json(["name": "Ann"])
            try await client().run(.post("users", headers: ["Content-Length": "7"], body: body))
        },
        Mistake("A body that cannot be encoded") {
            try await client().run(.post("users", body: .json(["age": Double.nan])))
        },
        Mistake("Plain http to another machine") {
            try await APIClient("http://api.example.com").run(.person)
        },
        Mistake("A token over plain http") {
            let client = APIClient("http://api.example.com") {
                $0.allowsCleartext = true
                $0.headers["Authorization"] = "Bearer 3e1f"
            }
            try await client.run(.person)
        },
        Mistake("A rate limit of 0") {
            try await client { $0.rateLimit = .requests(0, per: .seconds(1)) }.run(.person)
        },
        Mistake("A negative timeout") {
            try await client { $0.timeout = .seconds(-1) }.run(.person)
        },
        Mistake("A file that does not exist") {
            try await client().run(.put("backup", body: .file("/nowhere/backup.tar")))
        },
        Mistake("A download to a folder") {
            try await client().download(.get("app.zip"), to: "/tmp")
        },
        Mistake("A download to a folder that does not exist") {
            try await client().download(.get("app.zip"), to: "/nowhere/app.zip")
        },
        Mistake("A client that has been shut down") {
            let client = client()
            await client.shutdown()
            try await client.run(.person)
        },
    ]
}
