import Testing

@testable import Errand

@Suite("HTTPSyntax: what may stand in a request's head")
struct HTTPSyntaxTests {
    @Test("C60: every byte of ASCII is a token's or it is not, as RFC 9110 (5.6.2) says")
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
        "C60: a field value has no control characters but the tab, and no space at an end",
        arguments: [
            ("", true), ("a", true), ("a b\tc", true), ("é 😀", true), ("\u{80}", true),
            (" a", false), ("a ", false), ("\ta", false), ("a\t", false), (" ", false),
            ("a\rb", false), ("a\nb", false), ("a\r\nb", false), ("a\0b", false), ("a\u{1B}b", false),
            ("a\u{7F}b", false),
        ])
    func values(text: String, isValue: Bool) {
        #expect(HTTPSyntax.isFieldValue(text) == isValue)
    }

    @Test("what is quoted stays on one line")
    func quoting() {
        let quoted = HTTPSyntax.quoted("a\r\n\0b\u{7F}é")
        #expect(quoted.allSatisfy { !$0.isNewline })
        #expect(quoted == "\"a\\r\\n\\0b\\u{7F}é\"" || quoted == "\"a\\r\\n\\u{00}b\\u{7F}é\"", "\(quoted)")
    }
}
