@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Responses that depend on fields of the request", .timeLimit(.minutes(10))) struct CacheVariantTests {
    private let scratch: Scratch
    private let clock = TestClock()
    private let network = scripted()
    private let cache = HTTPCache.memory(megabytes: 1)
    private let endpoint = Endpoint<[Int]>.get("x")

    init() throws {
        scratch = try Scratch()
    }

    private func client() -> APIClient {
        testClient(network, clock) {
            $0.cache = cache
            // Otherwise it would be part of the place at which a response is stored.
            $0.anonymousHeaders = ["X-Device"]
        }
    }

    @Test("K3: each combination of the fields that a response varies on has its entry")
    func variants() async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=60", "Vary": "Accept-Language, Accept-Encoding"]
        network.onAny { request in
            .status(200, headers: headers, body: "[\(request.headers["Accept-Language"] == "de" ? 49 : 1)]")
        }
        let client = client()
        for _ in 0..<2 {
            for (language, expected) in [("de", 49), ("en", 1)] {
                #expect(try await client.run(endpoint.header("Accept-Language", language)) == [expected])
            }
        }
        #expect(network.sent.count == 2 && cache.statistics.responses == 2)
    }

    private func reply(_ text: String, vary: String) -> ScriptedReply {
        var headers: HTTPHeaders = ["Cache-Control": "max-age=3600"]
        if !vary.isEmpty { headers["Vary"] = vary }
        return .json(text, headers: headers)
    }

    @Test(
        "K4: a 200 replaces what has answered the request, also if it depends on other fields",
        arguments: CacheKind.allCases,
        [["", "Accept-Language"], ["Accept-Language", ""], ["Accept-Language", "X-Device"]])
    func replaced(kind: CacheKind, vary: [String]) async throws {
        network.on(.get, "/x", reply("[1]", vary: vary[0]), reply("[2]", vary: vary[1]))
        let asked = endpoint.header("Accept-Language", "de").header("X-Device", "phone")
        try await withoutDiskThreads {
            let cache = kind.cache(in: scratch)
            let client = testClient(network, clock) { $0.cache = cache }
            #expect(try await client.run(asked) == [1])
            #expect(try await client.run(asked.cache(.reload)) == [2])
            let next = try await client.reply(to: asked)
            #expect(next.value == [2] && next.cache?.kind == .hit)
            #expect(cache.statistics.responses == 1)
        }
        try network.verify()
    }

    @Test("K3: of several responses that match a request, the newest answers it, whichever was stored last")
    func newest() throws {
        let (store, key) = (MemoryCacheStore(bytes: 100_000), CacheSample.key())
        let asked: HTTPHeaders = ["A": "1", "B": "2"]
        func stored(_ vary: String, at seconds: Double) throws -> StoredResponse {
            let headers: HTTPHeaders = ["Cache-Control": "max-age=60", "Vary": vary]
            return try #require(CacheSample.stored(headers, to: CacheSample.request(asked), at: seconds))
        }
        func found(_ request: HTTPHeaders) -> StoredResponse? {
            store.look(at: key) { $0.matches(request) { _ in false } }
        }
        let (onB, onA, plain) = (try stored("B", at: 1), try stored("A", at: 2), try stored("Accept-Encoding", at: 0))
        for response in [onB, onA, plain] { _ = store.insert(response, at: key) { false } }
        #expect(found(asked) === onA && found(["B": "2"]) === onB && found([:]) === plain)
        let next = try stored("B", at: 3)
        _ = store.insert(next, at: key) { false }
        #expect(found(asked) === next && store.extent.responses == 3)
    }

    @Test("K3: of responses that came at the same moment, the one that was stored last answers")
    func sameMoment() throws {
        let (store, key) = (MemoryCacheStore(bytes: 100_000), CacheSample.key())
        func stored(_ vary: String) throws -> StoredResponse {
            try #require(CacheSample.stored(["Cache-Control": "max-age=60", "Vary": vary]))
        }
        for (vary, count) in [("A", 1), ("B", 2), ("A", 2)] {
            let response = try stored(vary)
            _ = store.insert(response, at: key) { false }
            let found = store.look(at: key) { $0.matches([:]) { _ in false } }
            #expect(found === response && store.extent.responses == count)
        }
    }

    /// A call with a field for each device.
    private func call(_ devices: String...) -> Endpoint<String> {
        var endpoint = Endpoint<String>.get("x")
        for device in devices { endpoint.headers.add(name: "X-Device", value: device) }
        return endpoint
    }

    /// A server whose response names the devices that it was asked for.
    private func echo(_ headers: HTTPHeaders) {
        network.onAny { request in
            let devices = request.headers.values("X-Device").joined(separator: ",")
            return .status(200, headers: headers, body: "\"\(devices)\"")
        }
    }

    @Test("K3: several Vary fields are one list")
    func severalVaryFields() async throws {
        var headers: HTTPHeaders = ["Cache-Control": "max-age=60", "Vary": "Accept-Language"]
        headers.add(name: "Vary", value: "X-Device")
        echo(headers)
        let client = client()
        for device in ["phone", "tablet", "phone"] { #expect(try await client.run(call(device)) == device) }
        #expect(network.sent.count == 2)
    }

    @Test("K3: several fields of a request with one name are one list")
    func severalRequestFields() async throws {
        echo(["Cache-Control": "max-age=60", "Vary": "X-Device"])
        let client = client()
        #expect(try await client.run(call("phone", "tablet")) == "phone,tablet")
        #expect(try await client.run(call("phone", "watch")) == "phone,watch")
        #expect(try await client.run(call("phone")) == "phone")
        #expect(network.sent.count == 3)
        #expect(try await client.reply(to: call("phone, tablet")).cache?.kind == .hit)
    }
}
