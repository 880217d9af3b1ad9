import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("HTTPHeaders: fields in order, names case-insensitive")
struct HTTPHeadersTests {
    @Test("a name is found in any case")
    func lookup() {
        let headers: HTTPHeaders = ["Content-Type": "a", "X-Tag": "1", "x-tag": "2"]
        #expect(headers["content-TYPE"] == "a")
        #expect(headers["x-TAG"] == "1")
        #expect(headers.values("X-TAG") == ["1", "2"])
        #expect(headers["X-Other"] == nil)
        #expect(headers.values("X-Other").isEmpty)
    }

    @Test("only ASCII letters have two cases: ı and K (Kelvin) are other names")
    func asciiOnly() {
        let headers: HTTPHeaders = ["X-Kind": "1"]
        #expect(headers["X-\u{212A}ind"] == nil)
        #expect(headers["X-K\u{131}nd"] == nil)
    }

    @Test("setting a name keeps its place and removes its other fields; nil removes them all")
    func setting() {
        var headers: HTTPHeaders = ["A": "1", "B": "2", "a": "3", "C": "4"]
        headers["a"] = "5"
        #expect(headers.fields.map { "\($0.name)=\($0.value)" } == ["A=5", "B=2", "C=4"])
        headers["D"] = "6"
        #expect(headers.fields.last == HTTPHeaders.Field(name: "D", value: "6"))
        headers["b"] = nil
        #expect(headers.fields.map(\.name) == ["A", "C", "D"])
    }

    @Test("adding keeps the existing fields")
    func adding() {
        var headers: HTTPHeaders = ["A": "1"]
        headers.add(name: "a", value: "2")
        #expect(headers.values("A") == ["1", "2"])
    }

    @Test("merging replaces each name by all the values that it has in the other")
    func merging() {
        var headers: HTTPHeaders = ["A": "1", "A": "2", "B": "3"]
        headers.merge(["a": "4", "a": "5", "C": "6"])
        #expect(headers.map { "\($0.name)=\($0.value)" } == ["B=3", "a=4", "a=5", "C=6"])
        let before = headers
        headers.merge([:])
        #expect(headers == before)
    }

    @Test("a name that is twice in a literal is an error when the request is built, and nothing is sent")
    func repeated() async throws {
        let endpoint = Endpoint<NoContent>.get(
            "x", headers: ["Accept": "text/csv", "X-A": "1", "accept": "text/plain"])
        let invalid = try await refusal(of: endpoint)
        #expect(invalid.subject == .header)
        #expect("\(invalid)".contains("the header accept is twice in a literal"))
        let common = try await refusal(of: Endpoint<NoContent>.get("x")) { $0.headers = ["X-A": "1", "X-A": "2"] }
        #expect(common.subject == .header)
    }

    @Test("a repeated name that is replaced, added or removed is no error")
    func repeatedElsewhere() async throws {
        var headers: HTTPHeaders = ["X-A": "1", "X-A": "2", "X-B": "1", "X-B": "2"]
        headers["X-A"] = "3"
        headers["X-B"] = nil
        headers.add(name: "X-C", value: "1")
        headers.add(name: "X-C", value: "2")
        let sent = try await request(for: Endpoint<NoContent>.get("x", headers: headers)).request
        #expect(sent.headers.values("X-A") == ["3"])
        #expect(sent.headers.values("X-C") == ["1", "2"])
        // A response may have any.
        let response: HTTPHeaders = ["Set-Cookie": "a=1", "Set-Cookie": "b=2"]
        #expect(response.values("set-cookie") == ["a=1", "b=2"])
    }
}
