#if os(Linux)
import ErrandTestSupport
import Foundation
import Testing

@Suite("What the compiler says about a mistake", .timeLimit(.minutes(10)))
struct CompilerMessageTests {
    private static let start = """
        import Errand
        struct Photo {}
        struct Friend: Decodable, Sendable {}
        enum Route: EndpointConvertible { case all; var path: EndpointPath { "photos" } }
        func example(_ client: APIClient, _ friend: Endpoint<Friend>) async throws {

        """

    private static let unfit = "the type of a response has to conform to Decodable and Sendable"

    @Test(
        "a result that does not fit is named; nothing is said of NoContent",
        .enabled(if: Compiler.program != nil),
        arguments: [
            ("let photos: [Photo] = try await client.run(.get(\"photos\")); _ = photos", unfit),
            ("var photos: [Photo] = []; photos = try await client.run(.get(\"photos\")); _ = photos", unfit),
            ("let photos: [Photo] = try await client.run(Route.all); _ = photos", unfit),
            ("let name: String = try await client.run(friend); _ = name", "the endpoint's response has another type"),
            // And what is right compiles.
            (
                """
                var friends: [Friend] = try await client.run(.get("x"))
                friends = try await client.run(Route.all)
                try await client.run(.delete("x"))
                try await client.run(Route.all)
                let one: Friend? = try await client.run(friend)
                let none = try await client.run(.get("x"))
                async let two: Friend = client.run(.get("x"))
                _ = (friends, one, none, try await two, try await client.run(.get("z")) as Friend)
                """, ""
            ),
        ])
    func messages(code: String, expected: String) async throws {
        let found = try await problems(of: "\(Self.start)\(code)\n}\n")
        #expect(found.isEmpty == expected.isEmpty && (found.isEmpty || found.contains(expected)), "\(found)")
        #expect(!found.contains("'NoContent' to"))
    }

    @Test(
        "replies of a script that the compiler reads as one are named", .enabled(if: Compiler.program != nil),
        arguments: [
            (".status(503)\n.json(\"[]\")", "separate replies with commas"),
            (".json(\"[]\")\n.status(503).after(.seconds(1))", "separate replies with commas"),
            (".silence\n.failure(.reset)", "separate replies with commas"),
            // And what is right compiles.
            (".status(503).after(.seconds(1))", ""),
            (".status(503);\n.json(\"[]\")", ""),
            ("ScriptedReply.status(503)\nif true { ScriptedReply.json(\"[]\") }", ""),
        ])
    func replies(code: String, expected: String) async throws {
        let start = "import ErrandSimulation\nfunc example(_ network: ScriptedTransport) {\n"
        let found = try await problems(of: "\(start)network.on(.get, \"/x\") {\n\(code)\n}\n}\n")
        #expect(found.isEmpty == expected.isEmpty && (found.isEmpty || found.contains(expected)), "\(found)")
    }

    private func problems(of code: String) async throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "messages-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // A temporary folder that cannot be removed is no reason to fail.
        defer { try? FileManager.default.removeItem(at: folder) }
        let compiler = try Compiler(try #require(Compiler.program), in: folder)
        return try await compiler.problems(of: code)
    }
}
#endif
