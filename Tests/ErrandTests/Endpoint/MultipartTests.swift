import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Multipart forms: the bytes that are sent")
struct MultipartTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    private func sent(
        _ configure: (inout Configuration) -> Void = { _ in }, _ fill: (inout MultipartForm) -> Void
    ) async throws -> (text: String, boundary: String, request: HTTPRequest) {
        let sent = try await request(for: Endpoint<NoContent>.post("x", body: .multipart(fill)), configure)
        let type = try #require(sent.request.headers["Content-Type"])
        let boundary = try #require(type.split(separator: "boundary=").last)
        #expect(type == "multipart/form-data; boundary=\(boundary)")
        #expect(sent.request.body?.length == sent.body.count)
        return (String(decoding: sent.body, as: UTF8.self), String(boundary), sent.request)
    }

    @Test("text, data, JSON and files are parts, each with its head, in the order in which they were added")
    func whole() async throws {
        try scratch.write("sun", to: "sunset.jpg")
        let (text, boundary, _) = try await sent { form in
            form.add("title", "Sun\nset")
            form.add("tag", ["a", "b"])
            form.add("none", String?.none)
            form.add("photo", file: scratch.path("sunset.jpg"))
            form.add("thumb", data: Data("t".utf8), filename: "t.png")
            form.add("raw", data: Data("r".utf8))
            form.add("place", json: ["lat": 1])
        }
        let lines = [
            "--B", "Content-Disposition: form-data; name=\"title\"", "", "Sun\nset",
            "--B", "Content-Disposition: form-data; name=\"tag\"", "", "a",
            "--B", "Content-Disposition: form-data; name=\"tag\"", "", "b",
            "--B", "Content-Disposition: form-data; name=\"photo\"; filename=\"sunset.jpg\"",
            "Content-Type: image/jpeg", "", "sun",
            "--B", "Content-Disposition: form-data; name=\"thumb\"; filename=\"t.png\"",
            "Content-Type: image/png", "", "t",
            "--B", "Content-Disposition: form-data; name=\"raw\"", "Content-Type: application/octet-stream", "", "r",
            "--B", "Content-Disposition: form-data; name=\"place\"", "Content-Type: application/json", "",
            "{\"lat\":1}", "--B--", "",
        ]
        #expect(text.replacing(boundary, with: "B") == lines.joined(separator: "\r\n"))
    }

    @Test("a form without parts is only its end")
    func empty() async throws {
        let (text, boundary, _) = try await sent { _ in }
        #expect(text == "--\(boundary)--\r\n")
    }

    @Test(
        "D12 names are written as the WHATWG HTML standard says",
        arguments: [
            ("a\"b", "a%22b", "a%22b"), ("a\nb", "a%0D%0Ab", "a%0Ab"), ("a\rb", "a%0D%0Ab", "a%0Db"),
            ("a\r\nb", "a%0D%0Ab", "a%0D%0Ab"), ("a\n\rb", "a%0D%0A%0D%0Ab", "a%0A%0Db"),
            ("a\\%22;=ü😀", "a\\%22;=ü😀", "a\\%22;=ü😀"), ("", "", ""),
        ])
    func names(given: String, name: String, filename: String) async throws {
        let (text, _, _) = try await sent { $0.add(given, data: Data(), filename: given, contentType: "a/b") }
        #expect(text.contains("form-data; name=\"\(name)\"; filename=\"\(filename)\"\r\nContent-Type: a/b\r\n"))
    }

    @Test("the boundary is valid, and another one in each call, but the same for each attempt of a call: D11")
    func boundary() async throws {
        let network = scripted()
        network.on(.put, "/x", .status(503), .status(503), .status(204).times(2))
        let clock = TestClock()
        let client = testClient(network, clock)
        let endpoint = Endpoint<NoContent>.put("x", body: .multipart { $0.add("a", "b") })
        try await clock.run {
            for _ in 0..<2 { try await client.run(endpoint) }
        }
        let types = network.sent.compactMap { $0.request.headers["Content-Type"] }
        #expect(types.count == 4 && Set(types.prefix(3)).count == 1 && Set(types).count == 2)
        #expect(Set(network.sent.prefix(3).map(\.body)).count == 1)
        let boundary = try #require(types[0].split(separator: "boundary=").last)
        #expect((27...70).contains(boundary.count))
        #expect(boundary.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789-".utf8.contains($0) })
    }

    @Test("common headers do not replace the content type, and common parameters go into the query")
    func common() async throws {
        let (text, _, request) = try await sent({
            $0.headers = ["Content-Type": "application/json"]
            $0.parameters = ["version": "1.0"]
        }) { $0.add("a", "b") }
        #expect(request.url.query == "version=1.0")
        #expect(!text.contains("version"))
    }

    @Test("the extension of a file's name determines its type, in any case")
    func types() async throws {
        let names = ["a.JPEG", "a.tar.gz", "a.unknown", "a", "a.", ".png"]
        let (text, _, _) = try await sent { form in
            for name in names { form.add("f", data: Data(), filename: name) }
        }
        let types = text.split(separator: "\r\n").filter { $0.hasPrefix("Content-Type: ") }.map { $0.dropFirst(14) }
        let unknown = "application/octet-stream"
        #expect(types.map(String.init) == ["image/jpeg", "application/gzip", unknown, unknown, unknown, "image/png"])
    }

    @Test("a content type that could write a header of its own is refused", arguments: ["a/b\r\nX: 1", "", " a/b"])
    func contentType(type: String) async throws {
        let body = RequestBody.multipart { $0.add("photo", data: Data(), contentType: type) }
        let invalid = try await refusal(of: Endpoint<NoContent>.post("x", body: body))
        #expect(invalid.subject == .body && invalid.reason.contains("the part \"photo\""), "\(invalid)")
    }

    @Test("a stream of known length gives the form its length; one of unknown length does not")
    func lengths() async throws {
        func body(_ length: Int?) -> RequestBody {
            .multipart { $0.add("log", stream: .stream(length: length, chunks(["ab", "", "c"])), filename: "l.txt") }
        }
        let known = try await request(for: Endpoint<NoContent>.post("x", body: body(3)))
        #expect(known.request.body?.length == known.body.count)
        #expect(String(decoding: known.body, as: UTF8.self).contains("text/plain\r\n\r\nabc\r\n--"))
        let unknown = try await request(for: Endpoint<NoContent>.post("x", body: body(nil)))
        #expect(unknown.request.body.map(\.length) == .some(nil))
        #expect(unknown.body.count == known.body.count)
    }

    @Test("D10 a part that is not as long as it promised fails the call", arguments: [2, 4])
    func wrongLength(promised: Int) async throws {
        let network = scripted()
        let body = RequestBody.multipart { $0.add("log", stream: .stream(length: promised, chunks(["ab", "c"]))) }
        let error = try await #require(throws: ServiceError.self) {
            try await testClient(network).run(.post("x", body: body))
        }
        #expect("\(error)".contains("does not have the \(promised) bytes"), "\(error)")
        #expect(network.sent.isEmpty)
    }

    @Test("no description shows the content")
    func descriptions() {
        var form = MultipartForm()
        form.add("password", "hunter2")
        let body = RequestBody.multipart(form)
        for text in ["\(form)", "\(body)", String(reflecting: form), dumped(form), dumped(body)] {
            #expect(text.contains("a form of 1 part") && !text.contains("hunter2"), "\(text)")
        }
    }

    private func dumped(_ value: some Any) -> String {
        var text = ""
        dump(value, to: &text)
        return text
    }
}

/// Returns a stream of those texts.
private func chunks(_ texts: [String]) -> HTTPBody.Chunks {
    HTTPBody.Chunks { continuation in
        for text in texts { continuation.yield(Data(text.utf8)) }
        continuation.finish()
    }
}
