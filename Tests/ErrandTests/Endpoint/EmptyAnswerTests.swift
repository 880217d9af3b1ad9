import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Endpoint: what a response without a body means")
struct EmptyAnswerTests {
    @Test("NoContent accepts any success, whatever its body and type", arguments: ["", "OK", "{", "<html>", "null"])
    func noContent(body: String) async throws {
        let reply = ScriptedReply.status(200, headers: ["Content-Type": "text/html"], body: body)
        #expect(try await outcome(reply, as: NoContent.self).get() == NoContent())
        #expect(try await outcome(.status(204), as: NoContent.self).get() == NoContent())
    }

    @Test("NoContent does not make a failure a success")
    func noContentFails() async throws {
        #expect(try await outcome(.status(404), as: NoContent.self).failure?.status == 404)
    }

    @Test("an optional is nil, below keys too")
    func optional() async throws {
        #expect(try await outcome(.status(200), as: Int?.self).get() == nil)
        #expect(try await outcome(.status(204), as: [String]?.self, below: "data").get() == nil)
        #expect(try await outcome(.json("null"), as: Int?.self).get() == nil)
        #expect(try await outcome(.json("7"), as: Int?.self).get() == 7)
    }

    @Test("Data is the bytes as they arrived, of any type, even none")
    func data() async throws {
        let bytes = Data([0xEF, 0xBB, 0xBF, 0xFF, 0x00])
        let reply = ScriptedReply.response(
            HTTPResponse(status: 200, headers: ["Content-Type": "image/png"], body: .bytes(bytes)))
        #expect(try await outcome(reply, as: Data.self).get() == bytes)
        #expect(try await outcome(.status(204), as: Data.self).get() == Data())
        let sent = try await request(for: Endpoint<Data>.get("x"))
        #expect(sent.request.headers["Accept"] == nil)
    }

    @Test("C70: for every other type an empty body is decodingFailed", arguments: [200, 204, 205])
    func others(status: Int) async throws {
        let failure = try #require(try await outcome(.status(status), as: [Int].self).decodingFailure)
        #expect(failure.found == "an empty body")
        #expect(failure.status == status)
        #expect(failure.path.isEmpty)
        #expect(try await outcome(.status(status), as: String.self, below: "a").decodingFailure != nil)
    }
}
