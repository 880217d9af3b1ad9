import Errand
import ErrandTesting
import Foundation
import Testing

@testable import GitHubClient

@Suite("A GitHub client, against a server", .timeLimit(.minutes(10)))
struct GitHubClientTests {
    private let server: LoopbackServer
    private let gitHub: GitHub
    private let repository = Repository(
        name: "errand", owner: Repository.Owner(login: "ann"), stargazersCount: 7, pushedAt: .distantPast)

    init() throws {
        server = try LoopbackServer()
        gitHub = GitHub(token: "t1", server: server.baseURL)
    }

    @Test("a list is read page by page, with the headers that GitHub asks for")
    func repositories() async throws {
        func page(_ name: String, _ stars: Int) -> String {
            """
            [{"name": "\(name)", "owner": {"login": "ann"}, "stargazers_count": \(stars), \
            "pushed_at": "2026-02-01T12:00:00Z"}]
            """
        }
        let next = "<\(server.baseURL)/users/ann/repos?sort=pushed&per_page=100&page=2>; rel=\"next\""
        server.on(.get, "/users/ann/repos?sort=pushed&per_page=100", .json(page("one", 5), headers: ["Link": next]))
        server.on(.get, "/users/ann/repos?sort=pushed&per_page=100&page=2", .json(page("two", 7)))
        var stars: [String: Int] = [:]
        for try await repository in gitHub.repositories(of: "ann") {
            stars[repository.name] = repository.stargazersCount
        }
        #expect(stars == ["one": 5, "two": 7])
        for request in server.received {
            #expect(request.headers["Authorization"] == "Bearer t1")
            #expect(request.headers["User-Agent"] == "repository-report/1.0")
            #expect(request.headers["Accept"] == "application/vnd.github+json")
        }
    }

    @Test("a 404 means that there is no release, and no star")
    func absent() async throws {
        server.on(.get, "/repos/ann/errand/releases/latest", .json(#"{"tag_name": "1.0"}"#), .status(404))
        #expect(try await gitHub.latestRelease(of: repository)?.tagName == "1.0")
        #expect(try await gitHub.latestRelease(of: repository) == nil)
        server.on(.get, "/user/starred/ann/errand", .status(204), .status(404))
        #expect(try await gitHub.hasStarred(repository))
        #expect(try await !gitHub.hasStarred(repository))
    }

    @Test("an issue is opened, or refused in GitHub's words")
    func issue() async throws {
        server.on(
            .post, "/repos/ann/errand/issues", .json(#"{"number": 3}"#, status: 201),
            .json(#"{"message": "Validation Failed", "errors": [{"field": "title", "code": "missing"}]}"#, status: 422))
        #expect(try await gitHub.openIssue("Late", labels: ["bug"], in: repository).number == 3)
        #expect(try JSONDecoder().decode(JSONValue.self, from: server.received[0].body)["labels"]?[0]?.string == "bug")
        do throws(ServiceError) {
            _ = try await gitHub.openIssue("", labels: [], in: repository)
            Issue.record("the issue was opened")
        } catch .rejected(let rejection) {
            #expect(rejection.fieldErrors == ["title": ["missing"]])
        } catch {
            Issue.record(error)
        }
    }
}
