@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Link header: where the next page is (RFC 8288)")
struct LinkHeaderTests {
    @Test(
        "a next link is found in every form that it may have",
        arguments: [
            (#"<https://a.test/?p=2>; rel="next""#, "https://a.test/?p=2"),
            ("</p/2>;rel=next", "/p/2"),
            (#"<a>; rel="prev", <b>; rel="next", <c>; rel="last""#, "b"),
            (#"<a>; rel="prev next""#, "a"),
            ("<a>; rel=\"last \t NEXT\"", "a"),
            (#"<a>; REL=Next"#, "a"),
            (#"<a> ; title="x, y; rel=prev" ; rel = "next""#, "a"),
            (#"<a>; title="say \"hi\", <b>"; rel=next"#, "a"),
            ("<a?x=1,2;3>; rel=next", "a?x=1,2;3"),
            (#"<a>; rel=prev, , <b>; crossorigin; rel="next";"#, "b"),
            (#"garbage, <b>; rel=next"#, "b"),
            ("<a>; rel=next; rel=prev", "a"),
            ("< a >; rel=next", "a"),
            ("<a>; rel=next, <b>; rel=next", "a"),
            (#"<a>; anchor="/other"; rel=next, <b>; rel=next"#, "b"),
            (#"<>; rel="next""#, ""),
        ])
    func found(header: String, target: String) {
        #expect(LinkHeader.next(in: [header]) == target)
    }

    @Test(
        "other links and malformed ones are ignored",
        arguments: [
            "", ",", "<a>", "<a>; rel", #"<a>; rel="""#, "<a>; rel=prev", "<a>; rel=nextpage", #"<a>; rel="next-page""#,
            "<a>; rel=prev; rel=next", "<a; rel=next", "a; rel=next", #"<a>; title="rel=next""#,
            #"<a>; title="x; rel=next"#,
            #"<a>; anchor="/b"; rel=next"#, "<a>; xrel=next", "<", "<>", #"<a>; rel="prev"#, "<a>; =next",
        ])
    func notFound(header: String) {
        #expect(LinkHeader.next(in: [header]) == nil)
    }

    @Test("it may be in the second field of that name")
    func severalFields() {
        #expect(LinkHeader.next(in: ["<a>; rel=first", "<b>; rel=next"]) == "b")
        #expect(LinkHeader.next(in: []) == nil)
    }

    @Test("all links are there in order, with their relations in lower case; malformed and anchored ones are not")
    func links() {
        let headers: HTTPHeaders = [
            "Link": #"</1>; rel="First PREV", x, </2>; rel=last"#, "X": "1",
            "link": #"</3>; anchor="/o"; rel=self, </4>"#,
        ]
        let found = headers.links
        #expect(found.map(\.target) == ["/1", "/2", "/4"])
        #expect(found.map(\.relations) == [["first", "prev"], ["last"], []])
    }

    @Test("a reply's link is absolute, resolved against the URL of the response; a broken one is nil")
    func resolved() async throws {
        let network = scripted()
        network.on(.get, "/a", .status(302, headers: ["Location": "/v2/list?page=1"]))
        network.on(.get, "/v2/list") {
            ScriptedReply.json("1", headers: ["Link": #"<?page=9>; rel="last", <http://%>; rel=broken, <b>; rel=item"#])
        }
        let reply = try await testClient(network).reply(to: Endpoint<Int>.get("a"))
        #expect(reply.link("LAST") == "https://api.test/v2/list?page=9")
        #expect(reply.link("item") == "https://api.test/v2/b")
        #expect(reply.link("broken") == nil)
        #expect(reply.link("next") == nil)
    }

    @Test("a server that a redirect has led to names no links, since the client would follow them with its credentials")
    func otherOrigin() async throws {
        let network = scripted()
        network.on(.get, "/a", .status(302, headers: ["Location": "https://other.test/b"]))
        network.on(.get, "https://other.test/b") {
            ScriptedReply.json("1", headers: ["Link": #"<https://api.test/users>; rel="last""#])
        }
        let reply = try await testClient(network).reply(to: Endpoint<Int>.get("a"))
        #expect(reply.headers.links.count == 1)
        #expect(reply.link("last") == nil)
    }
}
