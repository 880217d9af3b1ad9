#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Downloads from nginx, whose ranges and validators were not written here.
@Suite(
    "Downloads from nginx", .enabled(if: Program.nginx.isInstalled, "nginx is not installed"),
    .timeLimit(.minutes(10)))
struct DownloadNginxTests {
    private let files: Scratch
    private let scratch: Scratch
    private let content = DownloadScene.content(3 << 20)

    init() throws {
        (files, scratch) = (try Scratch(), try Scratch())
        try content.write(to: URL(filePath: files.path("file")))
        // Old enough for its date to be certain.
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1_700_000_000)], ofItemAtPath: files.path("file"))
    }

    private var target: String { scratch.path("file") }

    /// Starts nginx with additional settings.
    private func nginx(_ settings: String) async throws -> (url: String, process: Nginx) {
        let nginx = try await Nginx(in: files, http: settings, server: "root \"\(files.folder)\";")
        return ("http://127.0.0.1:\(nginx.port)", nginx)
    }

    /// Ends the first body after some bytes, as a broken connection does, and runs a closure before the second request.
    private struct Breaking: Middleware {
        let after: Int
        var betweenDownloads: @Sendable () throws -> Void = {}
        let statuses = Noted<[Int]>([])

        func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
            let isFirst = statuses.value.isEmpty
            if !isFirst { try betweenDownloads() }
            var response = try await next(request, context)
            statuses.update { $0.append(response.status) }
            guard isFirst else { return response }
            let arrived = try await response.body.collect(upTo: .max).prefix(after)
            response.body = .stream(opening: {
                HTTPBody.Chunks { continuation in
                    continuation.yield(arrived)
                    let failure = TransportFailure(.reset, "broken off by the test")
                    continuation.finish(throwing: ServiceError.transport(failure))
                }
            })
            return response
        }
    }

    private func client(_ url: String, _ breaking: Breaking) -> APIClient {
        APIClient(url) {
            $0.rateLimit = .unlimited
            $0.attemptMiddlewares = [breaking]
        }
    }

    @Test(
        "D1: the rest comes as a part, by tag or by date, compressed or not; the file is identical",
        arguments: ["", "etag off;", "gzip on; gzip_types *; gzip_min_length 1;"])
    func parts(settings: String) async throws {
        let nginx = try await nginx(settings)
        let breaking = Breaking(after: 1_234_567)
        let file = try await client(nginx.url, breaking).download(.get("file"), to: target)
        #expect(breaking.statuses.value == [200, 206])
        #expect(file.status == 206 && file.attempts == 2 && file.bytes == content.count)
        #expect(FileManager.default.contents(atPath: target) == content)
    }

    @Test("D2: a file that has changed comes whole, from its beginning", arguments: ["", "etag off;"])
    func changed(settings: String) async throws {
        let nginx = try await nginx(settings)
        let other = Data(content.reversed())
        let path = files.path("file")
        let breaking = Breaking(after: 1_000_000) {
            try other.write(to: URL(filePath: path))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1_700_000_001)], ofItemAtPath: path)
        }
        let file = try await client(nginx.url, breaking).download(.get("file"), to: target)
        #expect(breaking.statuses.value == [200, 200] && file.status == 200)
        #expect(FileManager.default.contents(atPath: target) == other)
    }

    @Test("D3: a download that broke off after its last byte is complete after a 416")
    func complete() async throws {
        let nginx = try await nginx("")
        let breaking = Breaking(after: .max)
        let file = try await client(nginx.url, breaking).download(.get("file"), to: target)
        #expect(breaking.statuses.value == [200, 416] && file.status == 416)
        #expect(FileManager.default.contents(atPath: target) == content)
    }
}
#endif
