import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Cookies")
struct CookieSamples {
    @Test("a client with a jar")
    func simple() {
        let client = APIClient("https://api.example.com") {
            $0.cookies = CookieJar()
        }
        #expect(client.explain(Endpoint<NoContent>.get("me")).contains("cookies:     none"))
    }

    @Test("a site with several hosts")
    func sites() async throws {
        let jar = CookieJar(sites: ["example.com"])
        let api = APIClient("https://api.example.com") { $0.cookies = jar }
        let login = APIClient("https://login.example.com") { $0.cookies = jar }
        try jar.insert([Cookie("sid", "1", domain: "example.com", isHostOnly: false)])
        let me = Endpoint<NoContent>.get("me")
        for client in [api, login] { #expect(client.explain(me).contains("cookies:     sid")) }
        jar.removeAll()
        #expect(await jar.cookies.isEmpty)
    }

    @Test("a jar for the sites of a client")
    func oneClient() {
        let client = APIClient("https://api.example.com") {
            $0.cookies = CookieJar(sites: ["example.com"])
        }
        #expect(client.configuration.cookies != nil)
    }

    @Test("a jar with a file")
    func file() async {
        let jar = CookieJar(sites: ["example.com"], file: "/var/lib/app/cookies")
        await jar.waitUntilSaved()
        #expect(jar.description == "CookieJar(0 cookies, sites: example.com)")
    }

    @Test("cookies in a test")
    func testing() async throws {
        let (network, jar) = (scripted(), CookieJar())
        let client = APIClient("https://api.example.com") {
            $0.transport = network
            $0.cookies = jar
        }
        try jar.insert([Cookie("device", "7f3a", domain: "api.example.com")])
        network.on(.get, "/me", headers: ["Cookie": "device=7f3a"]) {
            .status(204, headers: ["Set-Cookie": "sid=1; Secure; HttpOnly"])
        }
        try await client.run(.get("me"))
        let names = await jar.cookies.map(\.name)  // ["device", "sid"]
        #expect(names == ["device", "sid"])
    }
}
