import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// A type that nests as deep as the response does.
private indirect enum Tree: Decodable, Sendable {
    case leaf
    case node([Tree])

    init(from decoder: any Decoder) throws {
        guard let children = try? decoder.singleValueContainer().decode([Tree].self) else {
            self = .leaf
            return
        }
        self = .node(children)
    }
}

private struct Link: Decodable, Sendable {
    var next: Indirect?
    final class Indirect: Decodable, Sendable {
        let link: Link
        init(from decoder: any Decoder) throws { link = try Link(from: decoder) }
    }
}

@Suite("Responses: a typed error or a value, never a trap")
struct AnswerTests {
    @Test(
        "C70: a response that is not the expected JSON is decodingFailed",
        arguments: [
            "null", "<!DOCTYPE html><p>no</p>", "{", "[1,", "\"x", "tru", "nul", "1 2", "[1] trailing", " ", "\u{0}",
            "NaN", "{\"a\":1}", "[\"\\ud800\"]", "\u{FEFF}", "'1'",
        ])
    func wrong(body: String) async throws {
        let failure = try #require(try await outcome(.status(200, body: body), as: [Int].self).decodingFailure)
        #expect(failure.status == 200)
        #expect(!failure.expected.isEmpty)
        #expect(!failure.found.isEmpty)
    }

    @Test("C70: HTML with a success status is reported as such, by its type or by its first character")
    func html() async throws {
        let page = "<html><body>Please log in</body></html>"
        let typed = try await outcome(
            .status(200, headers: ["Content-Type": "text/html; charset=utf-8"], body: page), as: [Int].self)
        #expect(typed.decodingFailure?.found == "text/html")
        #expect(typed.decodingFailure?.snippet == page)
        let untyped = try await outcome(.status(200, body: page), as: [Int].self)
        #expect(untyped.decodingFailure?.found == "a page of HTML or XML")
    }

    @Test(
        "C70: another content type is reported with what was found, and what was expected, once",
        arguments: [
            (#"["a"]"#, "a string"), ("[[1]]", "an array"), ("[true]", "bool"), (#"[{"a":1}]"#, "an object"),
        ])
    func otherType(body: String, found: String) async throws {
        let failure = try #require(try await outcome(.json(body), as: [Int].self).decodingFailure)
        #expect(failure.expected == "Int")
        #expect(failure.found == found)
    }

    @Test("C70: broken UTF-8 is an error in a text, and the snippet does not trap")
    func brokenText() async throws {
        let bytes = Data(#"{"name":""#.utf8) + [0xFF, 0xFE, 0xC3] + Data(#""}"#.utf8)
        let reply = ScriptedReply.response(HTTPResponse(status: 200, body: .bytes(bytes)))
        let failure = try #require(try await outcome(reply, as: [String: String].self).decodingFailure)
        #expect(failure.snippet.contains("\u{FFFD}"))
        let rejected = try await outcome(
            .response(HTTPResponse(status: 400, body: .bytes(bytes))), as: [String: String].self)
        #expect(rejected.failure?.status == 400)
    }

    @Test("C70: a byte order mark before the JSON is skipped")
    func byteOrderMark() async throws {
        let bytes = Data([0xEF, 0xBB, 0xBF]) + Data(#"{"data":[1,2]}"#.utf8)
        let reply = ScriptedReply.response(HTTPResponse(status: 200, body: .bytes(bytes)))
        #expect(try await outcome(reply, as: [Int].self, below: "data").get() == [1, 2])
        #expect(try await outcome(reply, as: [String: [Int]].self).get() == ["data": [1, 2]])
    }

    @Test("C70: a decoder of the user's own does not get the byte order mark")
    func ownDecoderWithoutMark() async throws {
        struct Text: ResponseDecoder {
            func decode<Value: Decodable>(_ type: Value.Type, from data: Data, below keys: [String]) throws -> Value {
                try #require(String(decoding: data, as: UTF8.self) as? Value)
            }
        }
        let network = scripted()
        network.on(.get, "/x", .json("\u{FEFF}Ann"))
        let client = testClient(network, TestClock()) { $0.decoder = Text() }
        #expect(try await Array(client.run(Endpoint<String>.get("x")).utf8) == Array("Ann".utf8))
    }

    @Test("C70: UTF-16, with a byte order mark, is a value or a typed error")
    func otherEncodings() async throws {
        let bytes = try #require("[1]".data(using: .utf16))
        let reply = ScriptedReply.response(HTTPResponse(status: 200, body: .bytes(bytes)))
        let result = try await outcome(reply, as: [Int].self)
        #expect(result.decodingFailure != nil || (try? result.get()) == [1])
    }

    @Test(
        "C70: a number beyond the range of its type is decodingFailed, with its path",
        arguments: ["9223372036854775808", "-9223372036854775809", "1e400", "1.5", "1e19", "1e-1"])
    func numbers(text: String) async throws {
        let failure = try #require(try await outcome(.json("[1,\(text)]"), as: [Int].self).decodingFailure)
        #expect(!failure.found.isEmpty)
        let small = try await outcome(.json("[300]"), as: [UInt8].self)
        #expect(small.decodingFailure != nil)
    }

    @Test("C70: numbers at the limits of their range are values")
    func edges() async throws {
        let json = "[9223372036854775807,-9223372036854775808,-0]"
        #expect(try await outcome(.json(json), as: [Int].self).get() == [.max, .min, 0])
        let doubles = try await outcome(.json("[1e308,5e-324,1e400]"), as: [Double].self)
        #expect(doubles.decodingFailure != nil || (try? doubles.get())?.last == .infinity)
    }

    @Test(
        "C70: a response that nests 100,000 deep is a typed error, whatever its type",
        arguments: [("[", "]"), (#"{"next":"#, "}"), ("[", ""), (#"{"next":"#, "")])
    func nesting(open: String, close: String) async throws {
        let depth = 100_000
        let json = String(repeating: open, count: depth) + "null" + String(repeating: close, count: depth)
        #expect(try await outcome(.json(json), as: Tree.self).decodingFailure != nil)
        #expect(try await outcome(.json(json), as: Link.self).decodingFailure != nil)
        #expect(try await outcome(.json(json), as: [Int].self, below: "next", "next").decodingFailure != nil)
    }

    @Test("C70: as deep as the decoder goes, a recursive type is a value or a typed error", arguments: [100, 500, 511])
    func deep(depth: Int) async throws {
        let lists = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let chain = String(repeating: #"{"next":"#, count: depth) + "null" + String(repeating: "}", count: depth)
        let tree = try await outcome(.json(lists), as: Tree.self)
        let link = try await outcome(.json(chain), as: Link.self)
        #expect(depth > 500 || tree.failure == nil)
        #expect(depth > 500 || link.failure == nil)
    }

    @Test(
        "C70: an error body that nests 100,000 deep still gives the status",
        arguments: ["[", #"{"error":"#, #"{"errors":["#, #"{"errors":{"a":"#, #"{"detail":"#])
    func nestedError(open: String) async throws {
        for depth in [100_000, 500, 250] {
            let close = String(open.compactMap { ["[": "]", "{": "}"][$0] as Character? }.reversed())
            let json = String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
            let error = try await outcome(.json(json, status: 422), as: [Int].self).failure
            guard case .rejected(let rejection) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(rejection.status == 422)
            #expect(rejection.body.count == json.utf8.count)
        }
    }

    @Test("a decoder's own error is decodingFailed, and so is a CancellationError if the call was not cancelled")
    func foreignDecoder() async throws {
        struct Own: Error { var password = "hunter2" }
        guard case .decodingFailed(let failure) = try await failure(decodingWith: Own()) else {
            Issue.record("not decodingFailed")
            return
        }
        #expect(failure.found.contains("Own"))
        #expect(!failure.found.contains("hunter2"))
        guard case .decodingFailed(let other) = try await self.failure(decodingWith: CancellationError()) else {
            Issue.record("not decodingFailed")
            return
        }
        #expect(other.found.contains("CancellationError"))
        #expect(try await self.failure(decodingWith: ServiceError.signInRequired) == .signInRequired)
    }

    private func failure(decodingWith error: any Error) async throws -> ServiceError {
        let network = scripted()
        network.on(.get, "/x") { .json("1") }
        let client = testClient(network, TestClock()) { $0.decoder = FailingDecoder(error: error) }
        return try await #require(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("x")) }
    }
}

private struct FailingDecoder: ResponseDecoder {
    var error: any Error
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data, below keys: [String]) throws -> Value {
        throw error
    }
}
