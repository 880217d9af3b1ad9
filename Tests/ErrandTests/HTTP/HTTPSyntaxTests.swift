import Testing

@testable import Errand

@Suite("HTTPSyntax: what a request's head may contain")
struct HTTPSyntaxTests {
    @Test("C60: which ASCII bytes may stand in a token, as RFC 9110 (5.6.2) says")
    func tokens() {
        let allowed = Set("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
        for byte in 0..<128 as Range<UInt8> {
            let character = Character(Unicode.Scalar(byte))
            #expect(HTTPSyntax.isToken("a\(character)b") == allowed.contains(character), "byte \(byte)")
        }
        #expect(!HTTPSyntax.isToken(""))
        #expect(!HTTPSyntax.isToken("é"))
    }

    @Test(
        "C60: a field value has no control characters but the tab, and no space at either end",
        arguments: [
            ("", true), ("a", true), ("a b\tc", true), ("é 😀", true), ("\u{80}", true),
            (" a", false), ("a ", false), ("\ta", false), ("a\t", false), (" ", false),
            ("a\rb", false), ("a\nb", false), ("a\r\nb", false), ("a\0b", false), ("a\u{1B}b", false),
            ("a\u{7F}b", false),
        ])
    func values(text: String, isValue: Bool) {
        #expect(HTTPSyntax.isFieldValue(text) == isValue)
    }

    @Test("a quoted text stays on one line")
    func quoting() {
        let quoted = HTTPSyntax.quoted("a\r\n\0b\u{7F}é")
        #expect(quoted.allSatisfy { !$0.isNewline })
        #expect(quoted == "\"a\\r\\n\\0b\\u{7F}é\"" || quoted == "\"a\\r\\n\\u{00}b\\u{7F}é\"", "\(quoted)")
    }
}
