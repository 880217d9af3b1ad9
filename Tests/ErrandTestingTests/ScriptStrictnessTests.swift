import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A script that does not match") struct ScriptStrictnessTests {
    private let reports = Noted<[TestFailure]>([])
    private let network: ScriptedTransport
    private let base = "https://api.test"

    init() {
        network = ScriptedTransport { [reports] failure in reports.update { $0.append(failure) } }
    }

    /// Sends a request that no script expects, and returns what was reported.
    private func report(
        _ method: HTTPMethod, _ target: String, headers: HTTPHeaders = [:], body: String? = nil
    ) async throws -> TestFailure {
        let request = HTTPRequest(
            method: method, url: try HTTPURL(base + target), headers: headers,
            body: body.map { .bytes(Data($0.utf8)) })
        let error = await #expect(throws: ServiceError.self) {
            _ = try await network.send(request, context: TransportContext())
        }
        let failure = try #require(reports.value.last)
        #expect(error == .transport(TransportFailure(.unsupported, failure.description)))
        #expect(throws: TestFailure.self) { try network.verify() }
        return failure
    }

    @Test("the failure shows how the request differs from the nearest script, and names the others")
    func nearest() async throws {
        network.on(.get, "/me", .json("1"))
        network.on(.post, "/users/7/friends", .json("1"))
        let line = #line - 1
        network.on(.get, "/users/7", ScriptedReply.json("1").always)
        let failure = try await report(.put, "/users/7/friends?token=hush")
        #expect(
            failure.description == """
                No script expects PUT https://api.test/users/7/friends?token=‹redacted›.
                The script for POST /users/7/friends at ScriptStrictnessTests.swift:\(line) differs \
                (- expected, + sent):
                    - method  POST
                    + method  PUT
                Other scripts:
                    GET /users/7 at ScriptStrictnessTests.swift:\(line + 2), used 0 times
                    GET /me at ScriptStrictnessTests.swift:\(line - 1), used 0 of 1 times
                """)
        #expect(failure.location == nil)
    }

    @Test("without any script, the failure says so")
    func empty() async throws {
        let failure = try await report(.get, "/a")
        #expect(failure.description.contains("The transport has no scripts"))
    }

    @Test("a used-up script says how often it has been used, at its line")
    func usedUp() async throws {
        network.on(.get, "/a", ScriptedReply.status(204).times(2))
        let line = #line - 1
        for _ in 0..<2 { _ = try await network.answer(.get, "\(base)/a") }
        let failure = try await report(.get, "/a")
        #expect(
            failure.description == """
                No script expects GET https://api.test/a.
                The script for GET /a at ScriptStrictnessTests.swift:\(line) has been used 2 of 2 times.
                """)
        #expect(failure.location?.line == UInt(line))
        #expect(failure.location?.description == "ScriptStrictnessTests.swift:\(line)")
    }

    @Test(
        "the failure names the part that differs, at the line of the script",
        arguments: [
            ("/a?sort=age&page=1", ["- query   page=1", "+ query   page=2"]),
            ("/a?page=2&sort=age&sort=name", ["- query   sort=name"]),
            ("/a", ["- header  Accept: text/csv", "+ header  Accept: text/plain"]),
        ])
    func parts(path: String, lines: [String]) async throws {
        network.on(.get, path, headers: ["accept": "text/plain", "Accept": "text/csv"], .json("1"))
        let line = #line - 1
        let failure = try await report(
            .get, "/a?page=2&sort=age", headers: ["Accept": "text/plain", "Authorization": "Bearer hush"])
        for text in lines { #expect(failure.description.contains("    \(text)"), "\(failure)") }
        #expect(failure.location?.line == UInt(line))
        #expect(!failure.description.contains("hush"))
    }

    @Test("the order of a query matters when the script says so")
    func queryOrder() async throws {
        network.on(.get, "/a?p=1&q=2", queryOrderMatters: true, .json("1"))
        let failure = try await report(.get, "/a?q=2&p=1")
        #expect(failure.description.contains("    - query   p=1&q=2\n    + query   q=2&p=1"))
        #expect(try await network.answer(.get, "\(base)/a?p=1&q=2").status == 200)
    }

    @Test("an unused reply is reported at its line when the transport is released")
    func unused() async throws {
        let reports = Noted<[TestFailure]>([])
        let line = #line + 3
        do {
            let network = ScriptedTransport { failure in reports.update { $0.append(failure) } }
            network.on(.get, "/a") {
                ScriptedReply.status(200).times(3)
                ScriptedReply.status(500).always
            }
            network.on(.post, "/b", .status(200))
            network.on(.post, "/c") { _ in .status(200) }
            _ = try await network.answer(.get, "https://api.test/a")
        }
        #expect(
            reports.value.map(\.description) == [
                "The script for GET /a at ScriptStrictnessTests.swift:\(line) has been used once; it expects 2 "
                    + "requests more.",
                "The script for POST /b at ScriptStrictnessTests.swift:\(line + 4) has been used 0 of 1 times.",
            ])
        #expect(reports.value.map(\.location?.line) == [UInt(line), UInt(line + 4)])
    }

    @Test("verify() reports it earlier, and then it is not reported again")
    func verified() async throws {
        let reports = Noted<[TestFailure]>([])
        do {
            let network = ScriptedTransport { failure in reports.update { $0.append(failure) } }
            network.on(.get, "/a", .status(200))
            let failure = #expect(throws: TestFailure.self) { try network.verify() }
            #expect(failure?.description.contains("has been used 0 of 1 times") == true)
            #expect(failure?.location != nil)
        }
        #expect(reports.value.isEmpty)
    }

    @Test("a script that was used up reports nothing")
    func fits() async throws {
        let reports = Noted<[TestFailure]>([])
        do {
            let network = ScriptedTransport { failure in reports.update { $0.append(failure) } }
            network.on(.get, "/a", .status(200))
            network.onAny { ScriptedReply.status(200).always }
            _ = try await network.answer(.get, "https://api.test/a")
            try network.verify()
        }
        #expect(reports.value.isEmpty)
    }

    @Test("a mistake in a script is reported once, whatever it leads to")
    func once() async throws {
        let reports = Noted<[TestFailure]>([])
        do {
            let network = ScriptedTransport { failure in reports.update { $0.append(failure) } }
            network.on(.post, "/login", .status(200))
            network.on(.get, "/friend", .status(200).times(3))
            network.on(.get, "/me", .status(200))
            for id in 0..<3 {
                let error = await #expect(throws: ServiceError.self) {
                    _ = try await network.answer(.get, "https://api.test/friends?page=\(id)")
                }
                #expect("\(try #require(error))".contains("page=\(id)"))
            }
            let all = try #require(throws: TestFailure.self) { try network.verify() }
            #expect(all.description.split(separator: "\n").count { $0.hasPrefix("No script expects") } == 3)
        }
        #expect(reports.value.count == 1)
        #expect(reports.value.first?.description.contains("page=0") == true)
    }

    @Test("requests with different nearest scripts are reported each; then unused replies are not")
    func twoMistakes() async throws {
        let reports = Noted<[TestFailure]>([])
        do {
            let network = ScriptedTransport { failure in reports.update { $0.append(failure) } }
            network.on(.get, "/users/7", .status(200))
            network.on(.get, "/photos/7", .status(200))
            for path in ["/users/8", "/photos/8", "/users/9"] {
                _ = try? await network.answer(.get, "https://api.test\(path)")
            }
        }
        #expect(reports.value.count == 2)
        #expect(reports.value.first?.description.contains("+ path    /users/8") == true)
        #expect(reports.value.last?.description.contains("+ path    /photos/8") == true)
    }

    @Test("onAny gets the request, for a number of requests or for all")
    func any() async throws {
        network.onAny(times: 1) { _ in .status(201) }
        network.onAny { request in
            .status(request.method == .get ? 200 : 405)
        }
        #expect(try await network.answer(.get, "\(base)/a").status == 201)
        #expect(try await network.answer(.get, "\(base)/b").status == 200)
        #expect(try await network.answer(.put, "\(base)/c").status == 405)
        try network.verify()
        #expect(reports.value.isEmpty)
    }
}
