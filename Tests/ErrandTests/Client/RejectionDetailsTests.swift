import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("A user's own error type")
struct RejectionDetailsTests {
    private struct Problem: Decodable, Sendable, Equatable {
        var errorCode: Int
    }

    private func rejection(_ body: String) async throws -> Rejection {
        let network = scripted()
        network.onAny { .status(422, body: body) }
        let client = testClient(network) {
            $0.decoder = .json(keys: .snakeCase)
            $0.errorDetails = .decoding(Problem.self)
        }
        let error = await #expect(throws: ServiceError.self) { try await client.run(.get("x")) }
        guard case .rejected(let rejection) = error else { throw try #require(error) }
        return rejection
    }

    @Test("the body is decoded with the client's decoder, and the details are made in one place")
    func details() async throws {
        let rejection = try await rejection(#"{"error_code": 7}"#)
        #expect(try rejection.decodeBody(as: Problem.self) == Problem(errorCode: 7))
        #expect(rejection.details(as: Problem.self) == Problem(errorCode: 7))
        #expect(rejection.details(as: Int.self) == nil)
    }

    @Test("a body of another shape says where, and has no details")
    func otherShape() async throws {
        let rejection = try await rejection(#"{"error_code": "secret"}"#)
        let error = #expect(throws: ServiceError.self) { try rejection.decodeBody(as: Problem.self) }
        guard case .decodingFailed(let failure) = error else { throw try #require(error) }
        #expect(failure.path == "errorCode" && failure.expected == "Int" && failure.status == 422)
        #expect(!"\(failure)".contains("secret"))
        #expect(rejection.details(as: Problem.self) == nil)
    }

    @Test(
        "errors of single fields are found in the usual shapes",
        arguments: [
            (#"{"message":"m","errors":[{"field":"name","code":"missing"}]}"#, ["name": ["missing"]], nil),
            (#"{"errors":{"name":["a","b"],"age":"c"}}"#, ["name": ["a", "b"], "age": ["c"]], nil),
            (
                #"{"error":{"type":"card_error","code":"expired","param":"exp_year","message":"Expired"}}"#,
                ["exp_year": ["Expired"]], "expired"
            ),
            (#"{"error":{"type":"api_error","message":"m"}}"#, [:], "api_error"),
            (#"{"type":"https://a.test/problem","title":"t"}"#, [:], nil),
        ] as [(String, [String: [String]], String?)])
    func fields(body: String, fields: [String: [String]], code: String?) async throws {
        let rejection = try await rejection(body)
        #expect(rejection.fieldErrors == fields && rejection.code == code)
    }
}
