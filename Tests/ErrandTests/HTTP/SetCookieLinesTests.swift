import ErrandTestSupport
import Testing

@testable import Errand

@Suite("Set-Cookie lines that a transport has joined") struct SetCookieLinesTests {
    @Test(
        "J7: lines joined with commas are taken apart",
        arguments: [
            ["a=1", "b=2"], ["a=1; Path=/", "b=2; Path=/"], ["a=1; Secure", "b=2; HttpOnly", "c=3"],
            ["a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT", "b=2; expires=Thu, 10-Jun-2027 10:18:14 GMT; Path=/x"],
            ["a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT; Path=/", "b=2"], ["a=\"x, y=z\"; Path=/", "b=2"],
            ["a=", "b="], ["a==, ;Path=/", "__Host-b=x"], ["a=1; Max-Age=3", "!#$%&'*+-.^_`|~=2"],
            ["a=\"x", "b=y\"z"], ["a=1; Custom=x,y", "b=2"],
        ])
    func joined(lines: [String]) {
        // What the first of these is followed by is not a cookie's name.
        let joined = lines.joined(separator: ", ")
        let expected = joined == "a=1; Custom=x,y, b=2" ? [joined] : lines
        #expect(SetCookieLines.split(joined: joined) == expected)
    }

    @Test("J7: a comma that no name and equals sign follow belongs to the value")
    func others() {
        for line in ["a=1,2", "a=1, 2", "a=1,", "a=,", "a=1, b c=2", "a=1,;=2", "", ",", "a=\"x, y=z\""] {
            #expect(SetCookieLines.split(joined: line) == [line])
        }
    }

    @Test("J7: random cookies that are joined are taken apart again")
    func random() {
        var random = SeededRandom(7)
        for _ in 0..<(LongRun.isWanted ? 5000 : 1000) {
            let lines = (0..<random.int(1...5)).map { _ in
                var parts = ["\(["a", "sid", "__Secure-x"].randomElement(using: &random) ?? "")=\(random.int(0...99))"]
                let attributes = [
                    "Path=/", "Secure", "HttpOnly", "Expires=Wed, 09 Jun 2027 10:18:14 GMT", "Max-Age=9",
                    "expires=Wednesday, 09-Jun-27 10:18:14 GMT", "SameSite=Lax", "Domain=example.com",
                ]
                for attribute in attributes.shuffled(using: &random).prefix(random.int(0...4)) {
                    parts.append(attribute)
                }
                return parts.joined(separator: "; ")
            }
            #expect(SetCookieLines.split(joined: lines.joined(separator: ", ")) == lines)
        }
    }

    @Test("J4, J7: a line made to be slow takes time in proportion to its length")
    func hostile() {
        let unit = ["a=\"b, c=", ";Path", ",", "=\"", " ", "\"", ";Path=/, x=\""]
        for part in unit {
            // Quadratic time would be minutes, and an hour in a long run.
            let size = LongRun.isWanted ? 1 << 20 : 1 << 18
            let text = "a=1;Path=/" + String(repeating: part, count: size / part.utf8.count)
            let lines = SetCookieLines.split(joined: text)
            #expect(lines.reduce(0) { $0 + $1.utf8.count } <= text.utf8.count)
        }
    }
}
