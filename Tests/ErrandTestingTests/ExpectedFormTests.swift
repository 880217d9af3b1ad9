import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("The form or the file that a script expects") struct ExpectedFormTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    private func file(_ name: String, _ text: String) throws -> String {
        try scratch.write(text, to: name)
        return scratch.path(name)
    }

    /// Sends the body to a script that expects another, and returns the lines of the difference; `nil` if it matches.
    private func lines(_ expected: ExpectedBody, _ body: RequestBody) async throws -> [String]? {
        let report = Noted<TestFailure?>(nil)
        let network = ScriptedTransport { failure in report.update { $0 = $0 ?? failure } }
        network.on(.post, "/a", body: expected, .status(204))
        let client = testClient(network)
        do throws(ServiceError) {
            try await client.run(.post("a", body: body))
            return nil
        } catch {
            let failure = try #require(report.value)
            return failure.description.split(separator: "\n").dropFirst(2)
                .map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    @Test("a form is compared by its parts, in any order, whatever its boundary")
    func same() async throws {
        let path = try file("sunset.jpg", "sun")
        let expected = ExpectedBody.multipart { form in
            form.add("title", "Sun\"set\"")
            form.add("a\"b", 1)
            form.add("place", json: ["lat": 1, "lon": 2])
            form.add("photo", file: path)
            form.add("raw", data: Data([0, 13, 10, 45, 45]), filename: "r")
            form.add("log", stream: .stream(HTTPBody.Chunks { nil }), filename: "l.txt")
        }
        let sent = RequestBody.multipart { form in
            form.add("log", stream: .bytes(Data("anything".utf8)), filename: "l.txt")
            form.add("raw", data: Data([0, 13, 10, 45, 45]), filename: "r")
            form.add("photo", data: Data("sun".utf8), filename: "sunset.jpg")
            form.add("place", json: JSONValue.object(["lon": 2, "lat": 1.0]))
            form.add("a\"b", "1")
            form.add("title", "Sun\"set\"")
        }
        #expect(try await lines(expected, sent) == nil)
        #expect(try await lines(.multipart { _ in }, .multipart { _ in }) == nil)
    }

    @Test("a mismatch shows which parts differ, without the secrets that the script does not name")
    func different() async throws {
        let path = try file("sunset.jpg", "sun")
        let expected = ExpectedBody.multipart { form in
            form.add("title", "Sunset")
            form.add("photo", file: path)
            form.add("missing", "1")
            form.add("thumb", data: Data("ab".utf8))
        }
        let sent = RequestBody.multipart { form in
            form.add("title", "Sunrise")
            form.add("photo", data: Data("sub".utf8), filename: "sunset.jpg")
            form.add("thumb", data: Data("ab".utf8), filename: "t.png")
            form.add("password", "hunter2")
        }
        #expect(
            try await lines(expected, sent) == [
                #"- body    title: "Sunset""#, "- body    photo: sunset.jpg, image/jpeg, 3 bytes",
                #"- body    missing: "1""#, "- body    thumb: application/octet-stream, 2 bytes",
                #"+ body    title: "Sunrise""#,
                "+ body    photo: sunset.jpg, image/jpeg, 3 bytes, which differ from byte 2 on",
                "+ body    thumb: t.png, image/png, 2 bytes", "+ body    password: ‹redacted›",
            ])
    }

    @Test("what is no form, and a file that the script does not find, are said")
    func broken() async throws {
        let form = ExpectedBody.multipart { $0.add("a", "1") }
        #expect(
            try await lines(form, .data(Data("oops".utf8), contentType: "a/b")) == [
                "- body    a form of 1 part", #"+ body    "oops""#,
            ])
        for text in ["--x", "--x\r\n", "--x\r\na\r\n--x--\r\n", "--x\r\n\r\n\r\nb\r\n--x--\r\n"] {
            let sent = RequestBody.data(Data(text.utf8), contentType: "multipart/form-data; boundary=x")
            #expect(try await lines(form, sent)?.first == "- body    a form of 1 part")
        }
        let missing = ExpectedBody.multipart { $0.add("f", file: "/none/a.txt") }
        let reason = "the script's file /none/a.txt, which cannot be read"
        let sent = RequestBody.multipart { $0.add("f", data: Data(), filename: "a.txt") }
        #expect(try await lines(missing, sent)?.first == "- body    f: a.txt, text/plain, \(reason)")
    }

    @Test("a file is compared with the bytes that were sent")
    func files() async throws {
        let path = try file("a.bin", "abc")
        #expect(try await lines(.file(path), .file(path)) == nil)
        let sent = RequestBody.data(Data("abd".utf8), contentType: "a/b")
        #expect(
            try await lines(.file(path), sent) == [
                "- body    3 bytes", "+ body    3 bytes, which differ from byte 2 on",
            ])
        let missing = try await lines(.file("/none"), sent)
        #expect(missing?.first == "- body    the script's file /none, which cannot be read")
        let url = URL(filePath: path)
        #expect(try await lines(.file(url), .file(url)) == nil)
        #expect(try await lines(.file(url), sent)?.first == "- body    3 bytes")
        let remote = try await lines(.file(try #require(URL(string: "https://a.test/b"))), sent)
        #expect(remote?.first == "- body    the script's file /b, which cannot be read")
    }
}
