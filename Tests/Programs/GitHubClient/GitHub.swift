import Errand
import Foundation

struct Repository: Decodable, Sendable, Equatable {
    struct Owner: Decodable, Sendable, Equatable {
        var login: String
    }

    var name: String
    var owner: Owner
    var stargazersCount: Int
    var pushedAt: Date

    fileprivate var path: EndpointPath { "\(owner.login)/\(name)" }
}

struct Release: Decodable, Sendable {
    var tagName: String
}

struct Issue: Decodable, Sendable {
    var number: Int
}

/// GitHub's API for a user with a personal access token.
struct GitHub: Sendable {
    private let client: APIClient

    init(token: String, server: String = "https://api.github.com") {
        client = APIClient(server) {
            $0.headers = [
                "Accept": "application/vnd.github+json", "Authorization": "Bearer \(token)",
                "User-Agent": "repository-report/1.0", "X-GitHub-Api-Version": "2022-11-28",
            ]
            $0.decoder = .json(keys: .snakeCase, dates: .iso8601)
            $0.rateLimit = .requests(5_000, per: .seconds(3_600))
        }
    }

    /// The repositories of an account; the one that was changed last is the first.
    func repositories(of login: String) -> some AsyncSequence<Repository, PagingError> {
        let list = Endpoint<[Repository]>.get("users/\(login)/repos", query: ["sort": "pushed", "per_page": 100])
        return client.items(of: list, by: .link)
    }

    /// The latest release; `nil` if there is none.
    func latestRelease(of repository: Repository) async throws(ServiceError) -> Release? {
        try await client.run(.get("repos/\(repository.path)/releases/latest").accepting(404))
    }

    func hasStarred(_ repository: Repository) async throws(ServiceError) -> Bool {
        let star = Endpoint<NoContent>.get("user/starred/\(repository.path)")
        return try await client.reply(to: star.accepting(404)).status == 204
    }

    func openIssue(_ title: String, labels: [String], in repository: Repository) async throws(ServiceError) -> Issue {
        let issue: RequestBody = .json(["title": title, "labels": labels])
        return try await client.run(.post("repos/\(repository.path)/issues", body: issue))
    }
}
