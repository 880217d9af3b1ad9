import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Common headers and parameters: what every call carries")
struct CommonPartsTests {
    @Test("an endpoint's own header takes precedence over the one per call, and that over the fixed one")
    func headers() async throws {
        let sent = try await request(for: Endpoint<Int>.get("x", headers: ["c": "endpoint"])) {
            $0.headers = ["A": "fixed", "B": "fixed", "C": "fixed", "accept": "application/vnd.api+json"]
            $0.headersForEachCall = { ["b": "call", "c": "call", "D": "call"] }
        }
        let headers = sent.request.headers
        #expect(["A", "B", "C", "D"].map { headers.values($0) } == [["fixed"], ["call"], ["endpoint"], ["call"]])
        #expect(headers.values("Accept") == ["application/vnd.api+json"])
    }

    @Test(
        "an endpoint's own parameter takes precedence over the one per call, and that over the fixed one",
        arguments: [false, true])
    func query(madeOfParameters: Bool) async throws {
        let endpoint: Endpoint<Int> =
            madeOfParameters ? Endpoint(.get, "x", parameters: ["c": "e"]) : .get("x", query: ["c": "e", "c": "f"])
        let sent = try await request(for: endpoint) {
            $0.parameters = ["a": "fixed", "b": "fixed", "c": "fixed"]
            $0.parametersForEachCall = { ["b": "call", "c": "call", "d": 4] }
        }
        let items = Set(sent.request.url.query?.split(separator: "&") ?? [])
        #expect(items == Set(["a=fixed", "b=call", "c=e", "d=4"] + (madeOfParameters ? [] : ["c=f"])))
    }

    @Test("they go into the JSON body of an endpoint made of parameters that has one")
    func body() async throws {
        let sent = try await request(for: Endpoint<Int>(.post, "x", parameters: ["c": "endpoint"])) {
            $0.parameters = ["a": "fixed", "b": "fixed", "c": "fixed"]
            $0.parametersForEachCall = { ["b": "call", "c": "call"] }
        }
        #expect(try sent.members == ["a": "fixed", "b": "call", "c": "endpoint"])
        #expect(sent.request.url.query == nil)
    }

    @Test("with a body of any other kind they go into the query")
    func otherBody() async throws {
        let sent = try await request(for: Endpoint<Int>.post("x", body: .json(["z": "1"]))) {
            $0.parameters = ["a": "fixed"]
        }
        #expect(sent.request.url.query == "a=fixed")
        #expect(try sent.members == ["z": "1"])
    }

    @Test("values per call are computed once for each call, retries included")
    func eachCall() async throws {
        let asked = Lock(0)
        let network = scripted()
        network.on(.get, "/x") {
            ScriptedReply.failure(.refused)
            ScriptedReply.json("1").times(2)
        }
        let clock = TestClock()
        let client = testClient(network, clock) {
            $0.headersForEachCall = {
                let count = asked.withLock { count in
                    count += 1
                    return count
                }
                return ["X-Count": "\(count)"]
            }
        }
        try await clock.run {
            for _ in 0..<2 { _ = try await client.run(Endpoint<Int>.get("x")) }
        }
        #expect(network.sent.map { $0.request.headers["X-Count"] } == ["1", "1", "2"])
    }
}
