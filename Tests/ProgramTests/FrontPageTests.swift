import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@testable import FrontPage

@Suite("A server that asks three others for a page", .timeLimit(.minutes(10)))
struct FrontPageTests {
    private let clock = TestClock()
    private let network = scripted()

    private func server() -> FrontPageServer {
        FrontPageServer(
            .init(
                login: "https://login.test", profiles: "https://profiles.test", orders: "https://orders.test",
                offers: "https://offers.test"), secret: "s"
        ) {
            $0.transport = network
            $0.time = clock
        }
    }

    private func scriptLogin() {
        network.on(.post, "/token") {
            ScriptedReply.json(#"{"access_token": "exchanged", "token_type": "Bearer", "expires_in": 3600}"#).always
        }
    }

    @Test("all of it, with a token that was exchanged once for each service; then the page is served anew")
    func whole() async throws {
        scriptLogin()
        network.on(.get, "/me", ScriptedReply.json(#"{"name": "Ann"}"#).times(2))
        network.on(.get, "/orders", ScriptedReply.json(#"[{"id": 7}]"#).times(2))
        network.on(.get, "/offers", ScriptedReply.json(#"[{"title": "Pens"}]"#).times(2))
        let server = server()
        let page = FrontPage(name: "Ann", orders: [Order(id: 7)], offers: [Offer(title: "Pens")])
        await clock.run {
            for _ in 0..<2 { #expect(await server.page(for: "ann's token") == page) }
        }
        let calls = network.sent.map(\.request)
        #expect(calls.count { $0.url.path == "/token" } == 2)
        #expect(
            calls.filter { ["/me", "/orders"].contains($0.url.path) }.allSatisfy {
                $0.headers["Authorization"] == "Bearer exchanged"
            })
        #expect(calls.filter { $0.url.path == "/offers" }.allSatisfy { $0.headers["Authorization"] == nil })
        #expect(server.metrics.snapshot["orders.succeeded"] == 2)
        await server.shutdown()
    }

    @Test("a service that hangs or fails leaves its part out after 800 ms, and the last offers stay")
    func partial() async throws {
        scriptLogin()
        network.on(.get, "/me", .json(#"{"name": "Ann"}"#), .status(503).always)
        network.on(.get, "/orders", .silence, .json(#"[{"id": 7}]"#))
        network.on(.get, "/offers", .json(#"[{"title": "Pens"}]"#), .silence)
        let server = server()
        await clock.run {
            let first = await server.page(for: "t")
            #expect(first == FrontPage(name: "Ann", offers: [Offer(title: "Pens")], missing: ["orders"]))
            #expect(clock.elapsed == .milliseconds(800))
            let second = await server.page(for: "t")
            #expect(
                second
                    == FrontPage(orders: [Order(id: 7)], offers: [Offer(title: "Pens")], missing: ["name", "offers"]))
            #expect(clock.elapsed <= .milliseconds(1600))
            await server.shutdown()
        }
        #expect(server.metrics.snapshot["mistakes"] == nil)
    }

    @Test(
        "while a service hangs, the pages wait for it only until its breaker opens; then they have all the rest at once"
    )
    func hanging() async throws {
        scriptLogin()
        network.on(.get, "/me") { ScriptedReply.json(#"{"name": "Ann"}"#).always }
        network.on(.get, "/orders") { ScriptedReply.json(#"[{"id": 7}]"#).always }
        network.on(.get, "/offers") {
            ScriptedReply.json(#"[{"title": "Pens"}]"#)
            ScriptedReply.silence.times(19)
            ScriptedReply.json(#"[{"title": "Ink"}]"#).always
        }
        let server = server()
        let pens = FrontPage(name: "Ann", orders: [Order(id: 7)], offers: [Offer(title: "Pens")], missing: ["offers"])
        await clock.run {
            for number in 0..<520 {
                let start = clock.now
                let page = await server.page(for: "t")
                if number > 0 { #expect(page == pens) }
                // Nineteen have waited, and five hundred have not.
                #expect(start.duration(to: clock.now) == (1...19 ~= number ? .milliseconds(800) : .zero))
            }
            try? await clock.sleep(for: .seconds(10))
            let page = await server.page(for: "t")
            #expect(page.offers == [Offer(title: "Ink")] && page.missing.isEmpty)
            await server.shutdown()
        }
        #expect(network.sent.count { $0.request.url.path == "/offers" } == 21)
        #expect(server.metrics.snapshot["mistakes"] == nil)
    }

    @Test("a mistake is counted, and not served as an empty page")
    func mistake() async throws {
        scriptLogin()
        network.on(.get, "/me", .json(#"{"nome": "Ann"}"#))
        network.on(.get, "/orders", .json("[]"))
        network.on(.get, "/offers", .json("[]"))
        let server = server()
        let page = await clock.run { await server.page(for: "t") }
        #expect(page == FrontPage(missing: ["name"]))
        #expect(server.metrics.snapshot["mistakes"] == 1 && server.metrics.snapshot["profiles.decodingFailed"] == 1)
        await server.shutdown()
    }
}
