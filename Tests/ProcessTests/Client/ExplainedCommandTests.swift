#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite(
    "client.explain: the command, run by bash and curl",
    .enabled(if: Program.bash.isInstalled && Program.curl.isInstalled, "bash or curl is not installed"),
    .timeLimit(.minutes(10)))
struct ExplainedCommandTests {
    /// Runs the explained command in a shell, and returns what the server received.
    private func received(
        _ method: HTTPMethod, _ path: EndpointPath = "x", headers: HTTPHeaders = [:], body: RequestBody? = nil
    ) async throws -> LoopbackRequest {
        let server = try LoopbackServer()
        defer { server.close() }
        server.onAny { _ in .json("1").thenClose }
        let client = APIClient(server.baseURL)
        var endpoint = Endpoint<Int>(method, path, parameters: [:])
        endpoint.headers = headers
        if let body { endpoint.body = body }
        let text = client.explain(endpoint)
        let command = text.components(separatedBy: "\n\n")[0]
        let shell = try Subprocess(
            try #require(Program.bash.path), ["-c", command + " --silent --max-time 300"], errors: .withOutput)
        try shell.input.close()
        let (said, status) = try await shell.outcome()
        #expect(status == 0, "\(String(decoding: said, as: UTF8.self)) \(command)")
        #expect(server.received.count == 1)
        return try #require(server.received.first)
    }

    @Test(
        "the method is one word, whatever it contains",
        arguments: ["GET", "M|id", "M`id`", "M&id", "M$HOME", "M'x", "M!x*#"])
    func methods(name: String) async throws {
        #expect(try await received(HTTPMethod(rawValue: name)).method.rawValue == name)
    }

    @Test("HEAD does not wait for a body")
    func head() async throws {
        #expect(try await received(.head).method == .head)
    }

    @Test("every header arrives as it was given, including an empty one")
    func headers() async throws {
        let headers: HTTPHeaders = [
            "X-Empty": "", "X-At": "@/etc/hostname", "X-Shell": "`id` $HOME \"a\" 'b' \\ ; | & !x", "X-Tab": "a\tb",
            "X-Bidi": "a\u{202E}'\\b", "X-Semi": ";", "X-Star": "*?[a]{b}", "X-Umlaut": "ä",
        ]
        let request = try await received(.get, headers: headers)
        for field in headers { #expect(request.headers[field.name] == field.value) }
    }

    @Test("a file is sent from its path, whatever its name")
    func file() async throws {
        let scratch = try Scratch()
        try scratch.write("a\nb", to: "it's \"a\" $HOME;x.tar")
        let request = try await received(.put, body: .file(scratch.path("it's \"a\" $HOME;x.tar")))
        #expect(String(decoding: request.body, as: UTF8.self) == "a\nb")
        #expect(request.headers["Content-Type"] == "application/x-tar")
    }

    @Test("a form is sent with its texts and files as they are", .enabled(if: MultipartReader.email.isInstalled))
    func form() async throws {
        let scratch = try Scratch()
        try scratch.write("sun", to: "a;b,c \"d\" 'e'.jpg")
        let request = try await received(
            .post,
            body: .multipart { form in
                form.add("title", "@Sun;set=\"1\" <x> $HOME 'y'")
                form.add("photo", file: scratch.path("a;b,c \"d\" 'e'.jpg"), filename: "f;g.jpg")
            })
        let parts = try await MultipartReader.email.parts(
            of: request.body, as: try #require(request.headers["Content-Type"]))
        #expect(
            parts == [
                ReadPart("title", "@Sun;set=\"1\" <x> $HOME 'y'"),
                ReadPart("photo", filename: "f;g.jpg", type: "image/jpeg", "sun"),
            ])
    }

    @Test("nothing in a path is read as a pattern or as a parent folder", arguments: ["[1-3]{a,b}", "..", "a b#?%"])
    func paths(segment: String) async throws {
        #expect(try await received(.get, "a/\(segment)").segments == ["a", segment])
    }
}
#endif
