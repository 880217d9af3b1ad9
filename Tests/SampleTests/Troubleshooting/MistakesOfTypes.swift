import ErrandTestSupport
import Foundation
import Testing

/// Mistakes that the compiler finds.
struct MistakesOfTypes: Sendable {
    /// The heading of the section about it in the article.
    let heading: String
    let code: String
    /// Whether the code is in a target that is on the main actor by default.
    var isOnMainActor = false

    static let all = [
        MistakesOfTypes(
            heading: "A model that is not Decodable",
            code: """
                struct Photo {}
                func example(_ client: APIClient) async throws {
                    let photos: [Photo] = try await client.run(.get("photos"))
                    print(photos)
                }
                """),
        MistakesOfTypes(
            heading: "A result of another type",
            code: """
                func example(_ client: APIClient, _ photo: Endpoint<Int>) async throws {
                    let name: String = try await client.run(photo)
                    print(name)
                }
                """),
        MistakesOfTypes(
            heading: "A list without a type",
            code: """
                func example(_ client: APIClient) async throws {
                    for try await photo in client.items(of: .get("photos"), by: .number("page")) { print(photo) }
                }
                """),
        MistakesOfTypes(
            heading: "A model on the main actor",
            code: """
                struct Photo: Codable { var id: Int }
                func example(_ client: APIClient) async throws {
                    let photos: [Photo] = try await client.run(.get("photos"))
                    print(photos)
                }
                """, isOnMainActor: true),
        MistakesOfTypes(
            heading: "An error without its type",
            code: """
                func example(_ client: APIClient) {
                    Task {
                        do {
                            try await client.run(.delete("photos/7"))
                        } catch .rejected {
                        } catch {
                        }
                    }
                }
                """),
        MistakesOfTypes(
            heading: "A result without a type",
            code: """
                func example(_ client: APIClient) async throws {
                    let photo = try await client.run(.get("photos/7"))
                    print(photo.title)
                }
                """),
        MistakesOfTypes(
            heading: "A path in a variable",
            code: """
                func example(_ client: APIClient) async throws {
                    let path = "photos/7"
                    try await client.run(.delete(path))
                }
                """),
        MistakesOfTypes(
            heading: "A helper that takes a closure",
            code: """
                func measured(_ work: () async throws -> Void) async rethrows { try await work() }
                func example(_ client: APIClient) async throws(ServiceError) {
                    try await measured { try await client.run(.delete("photos/7")) }
                }
                """),
        MistakesOfTypes(
            heading: "A value of your own in a nested literal",
            code: """
                struct Tag: Encodable { var name: String }
                func example(_ tag: Tag) -> RequestBody {
                    .json(["photo": ["id": 7, "tag": tag]])
                }
                """),
    ]
}

#if os(Linux)
@Suite("Mistakes that the compiler finds", .timeLimit(.minutes(10)))
struct MistakesOfTypesTests {
    @Test(
        "the compiler reports what the article shows", .enabled(if: Compiler.program != nil),
        arguments: MistakesOfTypes.all)
    func message(of mistake: MistakesOfTypes) async throws {
        let expected = try #require(try Article().messages[mistake.heading], "the article does not have it")
        let folder = FileManager.default.temporaryDirectory.appending(path: "mistakes-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // A temporary folder that cannot be removed is no reason to fail.
        defer { try? FileManager.default.removeItem(at: folder) }
        let compiler = try Compiler(try #require(Compiler.program), in: folder)
        let found = try await compiler.problems(
            of: "import Errand\n\(mistake.code)\n", isolatedByDefault: mistake.isOnMainActor)
        let errors = found.split(separator: "\n").filter { $0.contains(": error: ") }
        #expect(errors.contains { Article.matches(String($0), "…: error: \(expected)") }, "\(found)")
    }
}
#endif
