import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Responses: the content types that are decoded")
struct ContentTypeTests {
    private func run(_ contentType: String?, accepting: [String]? = nil) async throws -> Result<Int, ServiceError> {
        let network = scripted()
        let headers: HTTPHeaders = contentType.map { ["Content-Type": $0] } ?? [:]
        network.on(.get, "/x") { .status(200, headers: headers, body: "7") }
        let client = testClient(network, TestClock()) {
            if let accepting { $0.acceptedContentTypes = accepting }
        }
        do throws(ServiceError) {
            return .success(try await client.run(.get("x")))
        } catch {
            return .failure(error)
        }
    }

    @Test(
        "C70: JSON by any of its names is decoded, and so is a response without a type",
        arguments: [
            nil, "", "application/json", "Application/JSON", "application/json; charset=utf-8",
            "application/json;charset=utf-8", "application/json ;a=b", "text/json", "application/problem+json",
            "application/vnd.api+json",
        ])
    func accepted(contentType: String?) async throws {
        #expect(try await run(contentType).get() == 7)
    }

    @Test(
        "C70: a response with another type is not decoded",
        arguments: [
            "text/html", "text/plain", "application/xml", "application/jsonp", "application/json-seq", "image/svg+xml",
            "application/+jsonx", "text/vnd.api+json",
        ])
    func refused(contentType: String) async throws {
        #expect(try await run(contentType).decodingFailure?.found == contentType)
    }

    @Test("the accepted types are sent to the server, and checked in the response")
    func configured() async throws {
        #expect(try await run("text/plain", accepting: ["text/*"]).get() == 7)
        #expect(try await run("anything/at-all", accepting: ["*/*"]).get() == 7)
        #expect(try await run("application/json", accepting: ["text/plain"]).decodingFailure?.expected == "text/plain")
        let sent = try await request(for: Endpoint<Int>.get("x")) {
            $0.acceptedContentTypes = ["text/plain", "application/*+json", "text/json"]
        }
        #expect(sent.request.headers["Accept"] == "text/plain, text/json")
    }

    @Test("an error's own message is read whatever its content type")
    func errors() async throws {
        let reply = ScriptedReply.status(409, headers: ["Content-Type": "text/plain"], body: #"{"message":"Is taken"}"#)
        #expect(try await outcome(reply, as: Int.self).failure?.localizedDescription == "Is taken")
    }
}
