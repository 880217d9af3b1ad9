import Errand
import ErrandTestSupport
import Testing

@Suite("HTTPURL: references are resolved as RFC 3986 (5.4) says")
struct ReferenceResolutionTests {
    @Test(
        "C53: the normal examples",
        arguments: [
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g/"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q"),
            ("g#s", "http://a/b/c/g"),
            ("g?y#s", "http://a/b/c/g?y"),
            (";x", "http://a/b/c/;x"),
            ("g;x", "http://a/b/c/g;x"),
            ("g;x?y#s", "http://a/b/c/g;x?y"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("./", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../", "http://a/"),
            ("../../g", "http://a/g"),
        ])
    func normal(reference: String, expected: String) throws {
        #expect(try HTTPURL("http://a/b/c/d;p?q").resolving(reference).absoluteString == expected)
    }

    @Test(
        "C53: the abnormal examples",
        arguments: [
            ("../../../g", "http://a/g"),
            ("../../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("/../g", "http://a/g"),
            ("g.", "http://a/b/c/g."),
            (".g", "http://a/b/c/.g"),
            ("g..", "http://a/b/c/g.."),
            ("..g", "http://a/b/c/..g"),
            ("./../g", "http://a/b/g"),
            ("./g/.", "http://a/b/c/g/"),
            ("g/./h", "http://a/b/c/g/h"),
            ("g/../h", "http://a/b/c/h"),
            ("g;x=1/./y", "http://a/b/c/g;x=1/y"),
            ("g;x=1/../y", "http://a/b/c/y"),
            ("g?y/./x", "http://a/b/c/g?y/./x"),
            ("g?y/../x", "http://a/b/c/g?y/../x"),
            ("g#s/./x", "http://a/b/c/g"),
            ("g#s/../x", "http://a/b/c/g"),
        ])
    func abnormal(reference: String, expected: String) throws {
        #expect(try HTTPURL("http://a/b/c/d;p?q").resolving(reference).absoluteString == expected)
    }

    @Test(
        "an absolute reference and one with a host replace what they name",
        arguments: [
            ("https://b.test/x", "https://b.test/x"),
            ("HTTP://B.test/../x", "http://b.test/x"),
            ("//b.test:81/x/./y?z", "http://b.test:81/x/y?z"),
            ("a:b/c", nil),
            ("g:h", nil),
            ("http:g", nil),
            ("ftp://b.test/x", nil),
            ("//me:word@b.test/", nil),
            ("/%", nil),
            ("a b", nil),
        ] as [(String, String?)])
    func absolute(reference: String, expected: String?) throws {
        let base = try HTTPURL("http://a/b/c/d;p?q")
        guard let expected else {
            #expect(throws: ServiceError.self) { try base.resolving(reference) }
            return
        }
        #expect(try base.resolving(reference).absoluteString == expected)
    }

    @Test("a base without a path is resolved against the root")
    func emptyBase() throws {
        #expect(try HTTPURL("http://a").resolving("g").absoluteString == "http://a/g")
        #expect(try HTTPURL("http://a?q").resolving("../g").absoluteString == "http://a/g")
    }
}
