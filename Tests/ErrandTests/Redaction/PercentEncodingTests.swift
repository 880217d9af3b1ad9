import ErrandTestSupport
import Testing

@testable import Errand

@Suite("PercentEncoding: which characters are not escaped")
struct PercentEncodingTests {
    @Test(
        "a value is escaped completely where it could be read as a separator",
        arguments: [
            ("abcXYZ019-._~", "abcXYZ019-._~"),
            ("/", "%2F"), ("?", "%3F"), ("#", "%23"), ("%", "%25"), ("+", "%2B"), ("&", "%26"), ("=", "%3D"),
            (";", "%3B"), (" ", "%20"), (":", "%3A"), ("@", "%40"), ("\\", "%5C"), ("\r\n", "%0D%0A"), ("\0", "%00"),
            ("é", "%C3%A9"), ("😀", "%F0%9F%98%80"), ("%2F", "%252F"), ("", ""),
        ])
    func parts(text: String, expected: String) {
        #expect(PercentEncoding.segment.encode(text) == expected)
        #expect(PercentEncoding.queryPart.encode(text) == expected)
    }

    @Test("a literal keeps its separators and its escapes")
    func written() {
        #expect(PercentEncoding.path.keepingEscapes("/a/b;c=1,d:e@f/%2f/é ?") == "/a/b;c=1,d:e@f/%2f/%C3%A9%20%3F")
        #expect(PercentEncoding.query.keepingEscapes("a=1&b=/?&c=%20 #") == "a=1&b=/?&c=%20%20%23")
    }

    @Test("a % that begins no escape is refused", arguments: ["%", "%4", "a%", "%g0", "%0g", "%%20", "100%"])
    func brokenEscape(text: String) {
        #expect(PercentEncoding.path.keepingEscapes(text) == nil)
        #expect(PercentEncoding.query.keepingEscapes(text) == nil)
    }

    @Test(
        "decoding reads escapes and leaves everything else",
        arguments: [
            ("%41%c3%A9", "Aé"), ("100%", "100%"), ("%4", "%4"), ("%zz", "%zz"), ("a+b", "a+b"), ("%2525", "%25"),
        ])
    func decoding(text: String, expected: String) {
        #expect(PercentEncoding.decode(text) == expected)
    }

    @Test("every Unicode scalar of the first planes round-trips")
    func roundTrip() {
        let scalars = (0...0xFFFF as ClosedRange<UInt32>).compactMap(Unicode.Scalar.init)
        let text = String(String.UnicodeScalarView(scalars))
        #expect(PercentEncoding.decode(PercentEncoding.segment.encode(text)).unicodeScalars.elementsEqual(scalars))
    }

    @Test(
        "dot segments are removed as RFC 3986 (5.2.4) says",
        arguments: [
            ("/a/b/c/./../../g", "/a/g"), ("mid/content=5/../6", "/mid/6"), ("/..", "/"), ("/.", "/"), ("/a/..", "/"),
            ("/a//../b", "/a/b"), ("/a/b", "/a/b"), ("", "/"), ("/...", "/..."),
        ])
    func dots(path: String, expected: String) {
        #expect(PathSegments.removingDots(path) == expected)
    }
}
