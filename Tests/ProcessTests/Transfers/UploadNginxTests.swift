#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Uploads to nginx, which puts the body of each request into a file before it passes the request on.
@Suite(
    "Uploads to nginx",
    .enabled(if: Program.openssl.isInstalled && Program.nginx.isInstalled, "openssl or nginx is not installed"),
    .timeLimit(.minutes(10)))
struct UploadNginxTests {
    /// How the requests go to nginx.
    enum Way: CaseIterable {
        case http1, http2
    }

    private let authority: TestAuthority
    private let backend: LoopbackServer
    private let scratch: Scratch
    private let content = DownloadScene.content(3 << 20)

    init() async throws {
        (authority, backend, scratch) = (try await TestAuthority(), try LoopbackServer(), try Scratch())
        try content.write(to: URL(filePath: scratch.path("video.mp4")))
        backend.onAny { _ in .status(204) }
    }

    private func nginx(_ way: Way) async throws -> (client: APIClient, nginx: Nginx) {
        let certificate = try await authority.issue()
        let nginx = try await Nginx(
            in: Scratch(), listening: way == .http1 ? "" : "ssl http2",
            server: """
                ssl_certificate "\(certificate.file)"; ssl_certificate_key "\(certificate.key)";
                client_body_in_file_only on; client_max_body_size 8m;
                location / {
                    proxy_pass http://127.0.0.1:\(backend.port);
                    proxy_pass_request_body off; proxy_set_header Content-Length "";
                    proxy_set_header X-Body $request_body_file; proxy_set_header X-Length $http_content_length;
                }
                location /moved { return 307 /there; }
                location /small { client_max_body_size 1k; proxy_pass http://127.0.0.1:\(backend.port); }
                """)
        let host = way == .http1 ? "http://127.0.0.1" : "https://localhost"
        let client = APIClient("\(host):\(nginx.port)") {
            $0.transport = authority.transport()
            $0.rateLimit = .unlimited
            // Real time: a busy machine must not fail the test.
            $0.timeout = .seconds(60)
        }
        return (client, nginx)
    }

    /// Returns what nginx has read of the last request.
    private func read() throws -> (body: Data, request: LoopbackRequest) {
        let request = try #require(backend.received.last)
        let path = try #require(request.headers["X-Body"])
        return (try #require(FileManager.default.contents(atPath: path)), request)
    }

    @Test("D10: a file arrives byte for byte, with its length and its type", arguments: Way.allCases)
    func file(way: Way) async throws {
        let (client, nginx) = try await nginx(way)
        try await client.run(.put("x", body: .file(scratch.path("video.mp4"))))
        let (body, request) = try read()
        #expect(body == content)
        #expect(request.headers["X-Length"] == "\(content.count)" && request.headers["Content-Type"] == "video/mp4")
        withExtendedLifetime(nginx) {}
    }

    @Test("D12: a form arrives, and other readers find in it what was given", arguments: Way.allCases)
    func form(way: Way) async throws {
        let (client, nginx) = try await nginx(way)
        let name = "Fü\"ße\r\n😀"
        try await client.run(
            .post(
                "x",
                body: .multipart {
                    $0.add("title", name)
                    $0.add("video", file: scratch.path("video.mp4"))
                    $0.add("note", data: Data("--x\r\n".utf8), filename: "ä.txt")
                }))
        let (body, request) = try read()
        #expect(request.headers["X-Length"] == "\(body.count)")
        let expected = [
            ReadPart("title", name), ReadPart("video", filename: "video.mp4", type: "video/mp4", content),
            ReadPart("note", filename: "ä.txt", type: "text/plain", "--x\r\n"),
        ]
        for reader in MultipartReader.allCases where reader.isInstalled {
            #expect(try await reader.parts(of: body, as: try #require(request.headers["Content-Type"])) == expected)
        }
        withExtendedLifetime(nginx) {}
    }

    @Test("a stream without a length arrives whole", arguments: Way.allCases)
    func stream(way: Way) async throws {
        let (client, nginx) = try await nginx(way)
        let pieces = stride(from: 0, to: content.count, by: 70_001).map { content.dropFirst($0).prefix(70_001) }
        let body = RequestBody.stream(contentType: "x/y") {
            HTTPBody.Chunks { continuation in
                for piece in pieces { continuation.yield(Data(piece)) }
                continuation.finish()
            }
        }
        try await client.run(.post("x", body: body))
        #expect(try read().body == content)
        withExtendedLifetime(nginx) {}
    }

    @Test("D11: after a 307 the same bytes are sent from their start", arguments: Way.allCases)
    func moved(way: Way) async throws {
        let (client, nginx) = try await nginx(way)
        try await client.run(.put("moved", body: .file(scratch.path("video.mp4"))))
        let (body, request) = try read()
        #expect(request.path == "/there" && body == content)
        withExtendedLifetime(nginx) {}
    }

    @Test("D13: a body that nginx does not want is refused at once, and nothing reaches the server behind it")
    func refused() async throws {
        for way in Way.allCases {
            let (client, nginx) = try await nginx(way)
            let error = await #expect(throws: ServiceError.self) {
                try await client.run(.put("small", body: .file(scratch.path("video.mp4"))))
            }
            #expect(error?.status == 413)
            #expect(backend.received.isEmpty)
            withExtendedLifetime(nginx) {}
        }
    }

    @Test("D14: with Expect: 100-continue, nginx is asked first", arguments: Way.allCases)
    func asked(way: Way) async throws {
        let (client, nginx) = try await nginx(way)
        let path = scratch.path("video.mp4")
        try await client.run(.put("x", body: .file(path)).header("Expect", "100-continue"))
        #expect(try read().body == content)
        withExtendedLifetime(nginx) {}
    }
}
#endif
