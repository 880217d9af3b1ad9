import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite("Secrets: found in any encoding")
struct RedactorTests {
    /// A secret that every kind of escaping changes.
    static let secret = "pä<7q>\"o/r\\&d+7 zz😀"

    /// The secret as a server may repeat it, as the content of a JSON string.
    static let echoes: [String] = [
        #"pä<7q>\"o/r\\&d+7 zz😀"#,
        #"p\u00e4\u003c7q\u003E\u0022o\/r\u005c\u0026d+7 zz\ud83d\ude00"#,
        #"pä&lt;7q&gt;&quot;o/r\\&amp;d+7 zz😀"#,
        #"p&#228;&#60;7q&#62;&#34;o&#x2F;r&#92;&#38;d&#43;7&#32;zz&#x1F600;"#,
        "p%C3%A4%3C7q%3E%22o%2Fr%5C%26d%2B7%20zz%F0%9F%98%80",
        "p%c3%a4%3c7q%3e%22o%2fr%5c%26d%2b7+zz%f0%9f%98%80",
        "p%25C3%25A4%253C7q%253E%2522o%252Fr%255C%2526d%252B7%2520zz%25F0%259F%2598%2580",
        #"p\\u00e4<7q>\\\"o\\/r\\\\&d+7 zz😀"#,
    ]

    /// The places where a server may repeat it.
    static let bodies: [(status: Int, text: String)] = [
        (422, #"{"message":"no ECHO, sorry"}"#), (422, #"{"message":"no","code":"ECHO"}"#),
        (422, #"{"errors":{"name":["ECHO is short"]}}"#), (422, #"{"errors":{"ECHO":"x"}}"#),
        (200, #"{"a":["ECHO"]}"#), (200, #"{"ECHO":{"x":"no"}}"#), (200, "<html><p>ECHO</p>"),
        (503, #"{"error":{"message":"ECHO"}}"#), (429, #"{"message":"ECHO"}"#),
    ]

    @Test("C90: a password that comes back escaped is in no part of an error", arguments: echoes, 0..<bodies.count)
    func escaped(echo: String, place: Int) async throws {
        let body = Self.bodies[place]
        for sent in [RequestBody.json(["password": Self.secret]), .form(["password": Self.secret])] {
            let network = scripted()
            network.onAny {
                .status(
                    body.status, headers: ["Content-Type": "application/json"],
                    body: body.text.replacingOccurrences(of: "ECHO", with: echo))
            }
            let client = testClient(network, TestClock()) { $0.retry = .never }
            let error = try await #require(throws: ServiceError.self) {
                try await client.run(Endpoint<[String: [String: Int]]>.post("x", body: sent))
            }
            let shown = printed(error)
            #expect(!shown.contains("7q") && !shown.contains("zz"), "\(shown)")
            #expect(shown.contains("‹redacted›"))
        }
    }

    @Test("C90: the credentials of Basic are hidden, encoded and plain, however they come back")
    func basic() async throws {
        let password = "s3cret>>?word"
        let encoded = Data("ann:\(password)".utf8).base64EncodedString()
        #expect(encoded.contains("/") || encoded.contains("+"))
        for echo in [
            encoded, encoded.replacingOccurrences(of: "/", with: "\\/"), password, "s3cret&gt;&gt;?word",
            encoded.replacingOccurrences(of: "/", with: "%2F").replacingOccurrences(of: "+", with: "%2B"),
        ] {
            let network = scripted()
            network.onAny { .json("{\"message\":\"no \(echo)\"}", status: 400) }
            let client = testClient(network, TestClock())
            let error = try await #require(throws: ServiceError.self) {
                try await client.run(Endpoint<Int>.get("x", headers: ["Authorization": "Basic \(encoded)"]))
            }
            #expect(error.localizedDescription == "no ‹redacted›")
        }
    }

    @Test(
        "C90: a value is hidden because of the name before it",
        arguments: [
            ("pin=1234 is wrong", "pin=‹redacted› is wrong"),
            ("otp = 998877, try again", "otp = ‹redacted› try again"),
            ("GET /x?code=abc&page=2 failed", "GET /x?code=‹redacted›&page=2 failed"),
            ("a=1&device_code=abc&b=2", "a=1&device_code=‹redacted›&b=2"),
            ("{'password': 'a b'}", "{'password': ‹redacted›}"),
            (#"{"password"=>"a b"}"#, #"{"password"=>‹redacted›}"#),
            (#"{&quot;pwd&quot;:&quot;a&quot;,&quot;n&quot;:1}"#, #"{&quot;pwd&quot;:‹redacted›,&quot;n&quot;:1}"#),
            ("see https://x.test/cb%3Fcode%3Dabc%26n%3D1", "see https://x.test/cb%3Fcode%3D‹redacted›%26n%3D1"),
            ("https://ann:pw@x.test/ failed", "https://‹redacted›@x.test/ failed"),
            ("Authorization: Bearer abc1 x", "Authorization: Bearer ‹redacted› x"),
            ("basic YW5uOnB3MTIz", "basic ‹redacted›"),
            ("the bearer token is missing, error code=42", "the bearer token is missing, error code=42"),
            ("basic authentication", "basic authentication"),
            (#"{"code": 7, "key": "a"}"#, #"{"code": 7, "key": "a"}"#),
            (#"{"kind":"api","key":"a"}"#, #"{"kind":"api","key":"a"}"#),
            ("sort_key=name 1+1=2 100% \\o/ &co", "sort_key=name 1+1=2 100% \\o/ &co"),
        ])
    func named(text: String, shown: String) {
        #expect(Redactor.standard.text(text) == shown)
    }

    @Test(
        "C90: a URL in a header is shown without its secrets",
        arguments: [
            (
                "Link", "<https://x.test/?page=2&access_token=abc>; rel=\"next\"",
                "<https://x.test/?page=2&access_token=‹redacted›>; rel=\"next\""
            ),
            ("Content-Location", "/a?api_key=abc", "/a?api_key=‹redacted›"),
            ("Location", "https://x.test/cb#access_token=abc", "https://x.test/cb#access_token=‹redacted›"),
            ("Location", "https://me:x/y@x.test/", "https://‹redacted›@x.test/"),
            ("Refresh", "5; url=https://x.test/?code=abc", "5; url=https://x.test/?code=‹redacted›"),
            ("X-Next", "https://ann:pw@x.test/?sid=abc&n=1", "https://‹redacted›@x.test/?sid=‹redacted›&n=1"),
        ])
    func headers(name: String, value: String, shown: String) {
        #expect("\([name: value] as HTTPHeaders)" == "\(name): \(shown)")
    }

    @Test(
        "C90: a URL with an @ before its slashes is shown, and does not end the process",
        arguments: ["a@b//c:d", "@//:x", "a@b//", "@//", "//:x@", "x@y//[::1]:z"])
    func early(text: String) {
        let shown = "\(["Location": text] as HTTPHeaders)"
        #expect(shown == "Location: " + (text == "//:x@" ? "//\(Redactor.mask)@" : text))
    }

    @Test("C90: where a text is cut, no part of a secret is left", arguments: 0..<60)
    func cut(step: Int) {
        let secret = "secret-" + String(repeating: "0123456789", count: 40)
        let redactor = Redactor(hiding: [secret])
        let text = String(repeating: "ä", count: step) + String(repeating: secret, count: 60)
        let (shown, isCut) = redactor.beginning(of: text.utf8, length: 200)
        #expect(!shown.contains("012") && !shown.contains("secret-") && !shown.contains("\u{FFFD}"), "\(shown)")
        #expect(isCut)
        #expect(shown.unicodeScalars.count <= 200 && shown.hasPrefix(String(repeating: "ä", count: step)))
    }

    @Test("a short text is shown whole, and not marked as cut")
    func whole() {
        let (shown, isCut) = Redactor.standard.beginning(of: "äöü".utf8, length: 3)
        #expect(shown == "äöü" && !isCut)
        #expect(Redactor.standard.beginning(of: "äöüx".utf8, length: 3) == ("äöü", true))
    }

    @Test("C90: a text that is cut after a long secret does not end in half a character", arguments: 0..<4)
    func cutBehindASecret(shift: Int) {
        let secret = String(repeating: "0123456789", count: 150)
        let text = String(repeating: "x", count: shift) + secret + String(repeating: "€", count: 10_000)
        let (shown, isCut) = Redactor(hiding: [secret]).beginning(of: text.utf8, length: 200)
        #expect(isCut && shown.hasSuffix("€"), "\(shown)")
    }

    @Test(
        "C90: a secret is found after a partial match, and where it overlaps with itself",
        arguments: [
            ("aab1aab2", "no aab1aab1aab2, sorry", "no aab1‹redacted›, sorry"),
            ("ab1ab1ab", "ab1ab1ab1ab", "‹redacted›"), ("0000", "x0000000x", "x‹redacted›x"),
        ])
    func repetitive(secret: String, text: String, shown: String) {
        #expect(Redactor(hiding: [secret]).text(text) == shown)
    }

    @Test("C90: a secret that is merely a JSON keyword does not hide that keyword")
    func ordinaryWords() async throws {
        let network = scripted()
        network.onAny { .json(#"{"message":"the date is null, and that is true or false"}"#, status: 422) }
        let body = RequestBody.data(
            Data(#"{"password":null,"token":true,"secret":false}"#.utf8), contentType: "application/json")
        let error = try await #require(throws: ServiceError.self) {
            try await testClient(network, TestClock()).run(Endpoint<Int>.post("x", body: body))
        }
        #expect(error.localizedDescription == "the date is null, and that is true or false")
    }
}
