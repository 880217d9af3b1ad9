import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Endpoint: a value nested under keys of the response")
struct EnvelopeTests {
    @Test("the value is the one below the keys, whatever else is there")
    func opens() async throws {
        let reply = ScriptedReply.json(#"{"meta":null,"data":{"users":[1,2],"n":"x"},"users":"no"}"#)
        #expect(try await outcome(reply, as: [Int].self, below: "data", "users").get() == [1, 2])
        #expect(try await outcome(reply, as: String.self, below: "data", "n").get() == "x")
    }

    @Test("a key may be empty, contain dots or be a number")
    func oddKeys() async throws {
        let reply = ScriptedReply.json(#"{"":{"a.b":{"0":7}}}"#)
        #expect(try await outcome(reply, as: Int.self, below: "", "a.b", "0").get() == 7)
    }

    @Test(
        "C71: an envelope that is missing, null or of another type is decodingFailed, with the path",
        arguments: [
            (#"{}"#, "data", "nothing"),
            (#"{"data":null}"#, "data", "null"),
            (#"{"data":[1]}"#, "data", ""),
            (#"{"data":"x"}"#, "data", ""),
            (#"{"data":{}}"#, "data.users", "nothing"),
            (#"{"data":{"users":null}}"#, "data.users", "null"),
            (#"{"data":{"users":{"a":1}}}"#, "data.users", ""),
            (#"{"data":{"users":[1,"x"]}}"#, "data.users[1]", ""),
            (#"{"data":{"users":[1,null]}}"#, "data.users[1]", "null"),
            (#"[]"#, "", ""),
            (#"7"#, "", ""),
            (#"null"#, "", ""),
        ])
    func missing(json: String, path: String, found: String) async throws {
        let failure = try #require(
            try await outcome(.json(json), as: [Int].self, below: "data", "users").decodingFailure)
        #expect(failure.path == path)
        #expect(failure.status == 200)
        #expect(failure.snippet == json)
        if found.isEmpty {
            #expect(!failure.found.isEmpty && !failure.expected.isEmpty)
        } else {
            #expect(failure.found == found)
        }
    }

    @Test("C71: an optional below the keys may be null; a missing one is still an error")
    func optional() async throws {
        #expect(try await outcome(.json(#"{"data":null}"#), as: Int?.self, below: "data").get() == nil)
        #expect(try await outcome(.json(#"{"data":3}"#), as: Int?.self, below: "data").get() == 3)
    }
}
