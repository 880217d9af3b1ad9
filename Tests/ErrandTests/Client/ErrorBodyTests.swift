import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Error bodies: the server's own message")
struct ErrorBodyTests {
    private func rejection(_ body: String, status: Int = 422) async throws -> Rejection {
        let error = try await outcome(.status(status, body: body), as: Int.self).failure
        guard case .rejected(let rejection) = error else { throw try #require(error) }
        #expect(rejection.body == Data(body.utf8))
        return rejection
    }

    @Test(
        "C72: the message is found in each of the usual formats",
        arguments: [
            (#"{"message":"Is taken"}"#, "Is taken"),
            (#"{"error_description":"Bad grant","error":"invalid_grant"}"#, "Bad grant"),
            (#"{"error":"Is taken"}"#, "Is taken"),
            (#"{"error":{"message":"Is taken","code":7}}"#, "Is taken"),
            (#"{"error":{"error":{"message":"Is taken"}}}"#, "Is taken"),
            (#"{"detail":"Is taken"}"#, "Is taken"),
            (#"{"title":"Is taken"}"#, "Is taken"),
            (#"{"title":"Conflict","detail":"The name is taken","status":409}"#, "The name is taken"),
            (#"{"errors":[{"message":"Is taken"},{"message":"Short"}]}"#, "Is taken"),
            (#"{"errors":["Is taken","Short"]}"#, "Is taken"),
            (#"{"errors":[{},{"detail":"Is taken"}]}"#, "Is taken"),
            (#"{"errors":[{"title":"Is taken"}]}"#, "Is taken"),
            (#"{"message":"First","error":"second","detail":"third","title":"fourth"}"#, "First"),
            (#"{"message":404}"#, "404"),
            (#"{"success":false,"status_code":7,"status_message":"Is taken"}"#, "Is taken"),
            (#"{"status_message":"second","detail":"First"}"#, "First"),
        ])
    func messages(body: String, message: String) async throws {
        let rejection = try await rejection(body)
        #expect(rejection.message == message)
        let error = ServiceError.rejected(rejection)
        // One word is not for users.
        guard message.contains(" ") else { return #expect(error.serverMessage == nil) }
        #expect(error.localizedDescription == message)
    }

    @Test(
        "C72: a body without a message leaves the status as the only description",
        arguments: [
            "", "null", "[]", "{}", "7", "\"Taken\"", "[{\"message\":\"x\"}]", "{", "<html>{\"message\":\"x\"}</html>",
            #"{"msg":"Taken"}"#, #"{"message":""}"#, #"{"errors":[]}"#, #"{"errors":{}}"#,
        ])
    func none(body: String) async throws {
        let rejection = try await rejection(body, status: 404)
        #expect(rejection.message == nil)
        #expect(rejection.description == "The server responded with 404 (Not Found); there is no such resource")
    }

    @Test(
        "C73: members of wrong types are skipped, and the others still count",
        arguments: [
            #"{"message":null,"detail":"Taken"}"#, #"{"message":{"a":1},"error":"Taken"}"#,
            #"{"message":["x"],"title":"Taken"}"#, #"{"error":[1,2],"detail":"Taken"}"#,
            #"{"title":{"x":[]},"detail":"Taken","status":"no","type":7,"instance":[]}"#,
            #"{"detail":true,"title":"Taken"}"#, #"{"errors":[null,7,[],{"message":{}},{"message":"Taken"}]}"#,
            #"{"error":{"message":{"text":"x"}},"detail":"Taken"}"#,
            #"{"errors":"no","code":{},"detail":"Taken"}"#, #"{"message":1e400,"detail":"Taken"}"#,
        ])
    func wrongTypes(body: String) async throws {
        #expect(try await rejection(body).message == "Taken")
    }

    @Test(
        "C72: the server's own code is found",
        arguments: [
            (#"{"code":"E42","message":"x"}"#, "E42"), (#"{"code":42}"#, "42"),
            (#"{"error":"invalid_grant","error_description":"x"}"#, "invalid_grant"),
            (#"{"error":{"code":"E42"}}"#, "E42"), (#"{"status_code":7,"status_message":"x"}"#, "7"),
            (#"{"status_code":7,"code":"E42"}"#, "E42"), (#"{"code":[],"message":"x"}"#, nil),
            (#"{"message":"x"}"#, nil),
        ] as [(String, String?)])
    func codes(body: String, code: String?) async throws {
        #expect(try await rejection(body).code == code)
    }

    @Test("C72: errors of single fields are reported by their names")
    func fields() async throws {
        let map = try await rejection(#"{"errors":{"name":["short","taken"],"age":"young","x":7,"y":[]}}"#)
        #expect(map.fieldErrors == ["name": ["short", "taken"], "age": ["young"]])
        let list = try await rejection(
            #"{"errors":[{"field":"name","message":"short"},{"field":"name","message":"taken"},{"field":7}]}"#)
        #expect(list.fieldErrors == ["name": ["short", "taken"]])
        #expect(list.message == "short")
    }

    @Test("C72: 429 and 5xx carry the message and the wait too")
    func otherCases() async throws {
        let headers: HTTPHeaders = ["Retry-After": "7"]
        let body = #"{"message":"Slow down"}"#
        let limited = try await outcome(.status(429, headers: headers, body: body), as: Int.self).failure
        #expect(limited == .rateLimited(RateLimited(retryAfter: .seconds(7), status: 429, message: "Slow down")))
        let failed = try await outcome(.status(503, headers: headers, body: body), as: Int.self).failure
        guard case .serverFailure(let rejection) = failed else { throw try #require(failed) }
        #expect(rejection.message == "Slow down")
        #expect(rejection.retryAfter == .seconds(7))
        #expect(rejection.headers["retry-after"] == "7")
    }

    @Test("C72: a 429 without Retry-After carries the wait until the quota's reset")
    func quota() async throws {
        let headers: HTTPHeaders = ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30"]
        let limited = try await outcome(.status(429, headers: headers), as: Int.self).failure
        #expect(limited?.retryAfter == .seconds(30))
    }

    @Test("C72: of a thousand wrong fields, with a thousand errors each, a hundred are kept")
    func manyFields() async throws {
        let complaints = String(repeating: #""no","#, count: 999)
        let fields = (0..<1000).map { #""field\#($0)":["no"]"# }.joined(separator: ",")
        #expect(try await rejection("{\"errors\":{\(fields)}}").fieldErrors.count == 100)
        let one = try await rejection(#"{"errors":{"name":[\#(complaints)"no"]}}"#)
        #expect(one.fieldErrors["name"]?.count == 100)
    }

    @Test("C72: a very long message is cut, and a huge body is not searched")
    func long() async throws {
        let novel = String(repeating: "a", count: 10_000)
        #expect(try await rejection(#"{"message":"\#(novel)"}"#).message?.count == 500)
        let huge = String(repeating: "a", count: 2 << 20)
        #expect(try await rejection(#"{"message":"\#(huge)"}"#).message == nil)
    }

    @Test("the server's own error type can be decoded from the body")
    func ownType() async throws {
        struct Problem: Decodable, Equatable { var hint: Int }
        let rejection = try await rejection(#"{"hint":7}"#)
        #expect(try rejection.decodeBody(as: Problem.self) == Problem(hint: 7))
        let error = #expect(throws: ServiceError.self) { try rejection.decodeBody(as: [Problem].self) }
        #expect(
            error
                == .decodingFailed(
                    DecodingFailure(
                        path: "", expected: "an array", found: "a value of another type", status: rejection.status)))
    }
}
