@testable import Errand
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
}
