import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("File bodies: what is sent, and what is refused")
struct FileBodyTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    private func put(_ body: RequestBody) -> Endpoint<NoContent> { .put("x", body: body) }

    @Test("the file is the body, with the type of its extension or the one that was given", arguments: [0, 1, 700_000])
    func whole(size: Int) async throws {
        let content = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try content.write(to: URL(fileURLWithPath: scratch.path("a.tar")))
        let byPath = try await request(for: put(.file(scratch.path("a.tar"))))
        #expect(byPath.body == content)
        #expect(byPath.request.body?.length == size)
        #expect(byPath.request.headers["Content-Type"] == "application/x-tar")
        let url = URL(fileURLWithPath: scratch.path("a.tar"))
        let byURL = try await request(for: put(.file(url, contentType: "a/b")))
        #expect(byURL.body == content)
        #expect(byURL.request.headers["Content-Type"] == "a/b")
    }

    @Test("a file that cannot be read is refused, and nothing is sent, alone and in a form")
    func refused() async throws {
        let missing = scratch.path("none.txt")
        for (place, reason) in [
            (missing, "No such file"), (scratch.folder, "is a folder"), ("/dev/null", "is not a regular file"),
            ("", "No such file"), (missing + "/x", "No such file"),
        ] {
            for body in [RequestBody.file(place), .multipart { $0.add("f", file: place) }] {
                let invalid = try await refusal(of: put(body))
                #expect(invalid.subject == .file && invalid.reason.contains(reason), "\(invalid)")
                let text = testClient(scripted()).explain(put(body))
                #expect(text.hasPrefix("Nothing would be sent.") && text.contains(reason), "\(text)")
            }
        }
        let invalid = try await refusal(of: put(.file(try #require(URL(string: "https://api.test/a")))))
        #expect(invalid.reason.contains("is not the URL of a file"), "\(invalid)")
    }

    #if os(Linux)
    @Test(
        "a file whose length is missing or not true is refused, and not sent as if it were empty or had changed",
        arguments: ["/proc/self/status", "/proc/self/cmdline", "/sys/kernel/uevent_seqnum"])
    func withoutLength(place: String) async throws {
        for body in [RequestBody.file(place), .multipart { $0.add("f", file: place) }] {
            let invalid = try await refusal(of: put(body))
            #expect(invalid.subject == .file, "\(invalid)")
            #expect(invalid.reason == "\"\(place)\" has no known length; send it as a stream", "\(invalid)")
        }
    }
    #endif

    @Test("a file whose owner does not let us read it is refused", .enabled(if: geteuid() != 0, "root may read all"))
    func unreadable() async throws {
        try scratch.write("a", to: "secret")
        try scratch.setMode(0, of: "secret")
        let invalid = try await refusal(of: put(.file(scratch.path("secret"))))
        #expect(invalid.subject == .file && invalid.reason.contains("Permission denied"), "\(invalid)")
    }

    @Test("a body is described by its path, and its content is not shown")
    func description() throws {
        try scratch.write("hunter2", to: "a.txt")
        let body = RequestBody.file(scratch.path("a.txt"))
        #expect("\(body)" == "the file \(scratch.path("a.txt"))")
        let stream = RequestBody.stream(length: 3, contentType: "text/plain", HTTPBody.Chunks { nil })
        #expect("\(stream)" == "a stream of 3 bytes of text/plain")
    }

    @Test("D11 a retry reads the file again from its start")
    func retried() async throws {
        try scratch.write(String(repeating: "0123456789", count: 60_000), to: "a.txt")
        let network = scripted()
        network.on(.put, "/x", .failure(.reset), .status(503), .status(204))
        let clock = TestClock()
        let client = testClient(network, clock)
        try await clock.run { [scratch] in try await client.run(.put("x", body: .file(scratch.path("a.txt")))) }
        #expect(network.sent.count == 3 && Set(network.sent.map(\.body)).count == 1)
        #expect(network.sent.first?.body.count == 600_000)
    }

    @Test("D11 a stream that can be read once is sent once; one that can be opened is sent again")
    func streams() async throws {
        let network = scripted()
        network.on(.put, "/once", .status(503))
        network.on(.put, "/again", .status(503), .status(204))
        let clock = TestClock()
        let client = testClient(network, clock)
        let once = HTTPBody.Chunks {
            $0.yield(Data("a".utf8))
            $0.finish()
        }
        let error = try await #require(throws: ServiceError.self) {
            try await clock.run {
                try await client.run(.put("once", body: .multipart { $0.add("s", stream: .stream(once)) }))
            }
        }
        #expect(error.status == 503)
        let opened = RequestBody.stream(contentType: "text/plain") { Texts(texts: ["b", "c"]) }
        try await clock.run { try await client.run(.put("again", body: opened)) }
        #expect(network.sent.dropFirst().map { String(decoding: $0.body, as: UTF8.self) } == ["bc", "bc"])
    }

    @Test(
        "D10 a file that is not what it was when the call began is not sent",
        arguments: [Change.shrinks, .grows, .isRewritten, .isReplaced, .vanishes])
    func changed(change: Change) async throws {
        try scratch.write("0123456789", to: "a.txt")
        let network = scripted()
        // The call waits for its permit after it has looked at the file.
        let clock = TestClock()
        let limiter = RateLimiter(.requests(1, per: .seconds(1)), time: clock)
        let client = testClient(network, clock) { $0.limiter = limiter }
        let path = scratch.path("a.txt")
        network.on(.get, "/first", .status(204))
        try await client.run(.get("first"))
        let call = Task { try await client.run(.put("x", body: .file(path))) }
        await clock.sleepers(atLeast: 1)
        try change.happen(to: path)
        await clock.advance(by: .seconds(1))
        let error = try await #require(throws: ServiceError.self) { try await call.value }
        guard case .transport(let failure) = error else { throw error }
        #expect(failure.kind == .file, "\(failure)")
        #expect(failure.message.contains(change == .vanishes ? "No such file" : "has changed since"), "\(failure)")
        #expect(network.sent.count == 1)
    }
}

/// Texts as an asynchronous sequence of another type than a body's own.
private struct Texts: AsyncSequence, Sendable {
    let texts: [String]

    struct Iterator: AsyncIteratorProtocol {
        var texts: ArraySlice<String>

        mutating func next() async -> Data? { texts.popFirst().map { Data($0.utf8) } }
    }

    func makeAsyncIterator() -> Iterator { Iterator(texts: texts[...]) }
}

/// Something that happens to a file while it is sent.
enum Change: Sendable {
    case shrinks, grows, isRewritten, isReplaced, vanishes

    func happen(to path: String) throws {
        let url = URL(fileURLWithPath: path)
        switch self {
        case .shrinks: truncate(path, 3)
        case .grows:
            let file = try FileHandle(forWritingTo: url)
            try file.seekToEnd()
            try file.write(contentsOf: Data("x".utf8))
            try file.close()
        case .isRewritten:
            // The same length, and a time that a coarse clock cannot give twice.
            try Data("9876543210".utf8).write(to: url)
            var times = [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)]
            utimes(path, &times)
        case .isReplaced: try Data("9876543210".utf8).write(to: url, options: .atomic)
        case .vanishes: try FileManager.default.removeItem(atPath: path)
        }
    }
}
