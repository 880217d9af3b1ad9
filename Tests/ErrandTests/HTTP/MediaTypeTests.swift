import ErrandTestSupport
import Testing

@testable import Errand

@Suite("Content-Type") struct MediaTypeTests {
    @Test(
        "the charset is the value of the first parameter with that name",
        arguments: [
            ("text/plain;charset=utf-8", "utf-8"), ("text/plain ; a=b; CharSet = \"UTF-16\" ;charset=x", "UTF-16"),
            (#"text/plain; charset=" l1 ""#, "l1"), (#"text/plain; a="b;charset=x"; charset=y"#, "y"),
            ("text/plain;charset;charset=z", "z"), (#"text/plain; charset="utf-8"#, "utf-8"),
            ("text/plain; charset=utf-8, text/html", "utf-8"), ("text/plain", nil), ("", nil), ("charset=x", nil),
            ("text/plain; xcharset=y", nil),
        ])
    func charset(type: String, label: String?) {
        #expect(MediaType(type).charset == label)
    }

    @Test(
        "a pattern may have one star, for any text; case counts nowhere",
        arguments: [
            ("application/json", "application/json", true), ("Application/JSON ; a=b", "application/Json", true),
            ("application/problem+json", "application/*+json", true), ("application/+json", "application/*+json", true),
            ("APPLICATION/a+JSON", "Application/*+Json", true), ("text/html", "text/*", true), ("text/html", "*", true),
            ("text/html", "*/*", true), ("text", "*/*", true), ("application/json", "application/*+json", false),
            ("application/json", "text/*", false), ("a/b", "a/b*/b", false), ("text/html", "*/json", false),
            ("application/json5", "application/json", false),
        ])
    func patterns(type: String, pattern: String, isMatch: Bool) {
        #expect(MediaType(type).matches(pattern) == isMatch)
    }
}
