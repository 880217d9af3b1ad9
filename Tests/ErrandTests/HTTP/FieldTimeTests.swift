@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite(
    "The time to read what a server sends beside the body grows with the bytes, and not faster",
    .timeLimit(.minutes(10)), .serialized)
struct FieldTimeTests {
    /// What reads a text, in the way in which a call does.
    struct Reader: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let read: @Sendable (String) -> Void

        init(_ name: String, _ read: @escaping @Sendable (String) -> Void) {
            (testDescription, self.read) = (name, read)
        }
    }

    /// Combining marks of two classes, in the order that takes longest to sort.
    private static func marks(_ count: Int) -> String {
        String(repeating: "\u{301}", count: count / 2) + String(repeating: "\u{316}", count: count / 2)
    }

    /// Texts of about that many characters, of which each is hostile to another way of reading.
    private static let texts: [@Sendable (Int) -> String] = [
        { marks($0) }, { "S" + marks($0) }, { "W/\"" + marks($0) + "\"" }, { "a=" + marks($0) },
        { "Bearer error=\"" + marks($0) + "\", scope=\"" + marks($0) + "\"" }, { "/" + marks($0) },
        { "h3=\":443" + marks($0) + "\"" }, { "a" + marks($0) + "=" + marks($0) + "; Domain=." + marks($0) },
        { "<" + marks($0) + ">; rel=" + marks($0) }, { "https://x.test/" + marks($0) + "?" + marks($0) },
        { String(repeating: "\u{0F73}", count: $0) }, { String(repeating: "=\u{301},", count: $0 / 3) },
    ]

    @Test("C97: four times the bytes take at most six times as long", arguments: fields + answers)
    func growth(of reader: Reader) async {
        for (number, text) in Self.texts.enumerated() {
            let factor = await OwnThread.run {
                Growth.factor(text, size: 1000, upTo: 6, ignoring: 0.002, reader.read)
            }
            #expect(factor <= 6, "\(reader.testDescription), text \(number)")
        }
    }

    // MARK: Header fields

    private static let now = Date(timeIntervalSince1970: 1_700_000_000)
    private static let url = try? HTTPURL(reading: "https://x.test/a")

    private static func date(_ name: String) -> Reader {
        Reader(name) { text in
            _ = CacheFreshness(
                [name: text], status: 200, control: CacheControl([]), delay: .zero,
                received: CacheMoment(date: now, instant: .zero))
        }
    }

    private static let fields = [
        Reader("a date of HTTP") { _ = HTTPDate.parse($0, now: now) },
        date("Expires"), date("Date"), date("Last-Modified"), date("Age"),
        Reader("Retry-After and the rate limits") { text in
            for name in ["Retry-After", "RateLimit", "X-RateLimit-Remaining", "X-RateLimit-Reset"] {
                let response = HTTPResponse(status: 403, headers: [name: text])
                _ = (response.isThrottled, RetryAfterHeaders(of: response, date: now, ceiling: .seconds(60)))
                _ = RetryAfterHeaders.retryAfter(in: response.headers, date: now)
            }
        },
        Reader("ETag") { text in
            let headers: HTTPHeaders = ["ETag": text]
            _ = headers.etag?.matchesWeakly("W/\"a\"")
            _ = EntityTag(text) == "a"
            _ = FileVersion(headers) == .tag("\"a\"")
        },
        Reader("Vary") { text in
            _ = CacheVariant.names(in: ["Vary": text])
            let variant = CacheVariant(names: ["a"], values: [text])
            _ = variant.matches(["a": "b"], isParted: { _ in false }) || variant == .none
            _ = variant.hashValue
        },
        Reader("Cache-Control and groups") { text in
            _ = CacheControl([text])
            _ = CacheGroups.names(in: [text])
        },
        Reader("Connection") { text in
            let headers: HTTPHeaders = ["Connection": text, "Upgrade": text, "X": "y"]
            _ = StoredResponse.storable(HTTPHeaders(headers.fields + [HTTPHeaders.Field(name: text, value: "")]))
        },
        Reader("WWW-Authenticate") { text in
            let headers: HTTPHeaders = ["WWW-Authenticate": text]
            _ = (headers.challenges, headers.tokenError, headers.refusesNotToken)
        },
        Reader("Link") { text in
            let headers: HTTPHeaders = ["Link": text]
            _ = (headers.links, LinkHeader.next(in: [text]))
        },
        Reader("Content-Type") { text in
            for text in [text, "text/plain; charset=\(text)"] {
                let type = MediaType(text)
                _ = (type.charset.flatMap(Charset.init), type.isJSON, type.matches("application/*+json"))
            }
        },
        Reader("the length and the codings") { text in
            let headers: HTTPHeaders = ["Content-Length": text, "Content-Encoding": text]
            _ = (headers.bodyLength, headers.codings, ContentRange(text))
            _ = DownloadState(offset: 5, version: .tag("\"a\"")).step(
                after: 206, ["Content-Range": text, "ETag": text])
        },
        Reader("digests") { text in
            _ = FileDigest(of: 200, ["Repr-Digest": text, "Content-Digest": "sha-256=:\(text):"])
        },
        Reader("Location") { text in
            _ = try? url?.resolving(reading: text)
            _ = try? url?.resolving(reading: "//\(text)")
        },
        Reader("Set-Cookie") { text in
            guard let url else { return }
            var jar = JarState()
            for line in [text] + SetCookieLines.split(joined: text) {
                let cookie = try? Cookie(
                    SetCookie(line), from: CookieSource(url), sites: CookieSites(["x.test"]), at: now)
                if let cookie { jar.set(cookie, of: nil, at: now) }
            }
            _ = jar.header(for: CookieSource(url), of: nil, at: now)
        },
        Reader("a trace") { _ = TraceContext(parent: $0, state: $0) },
        Reader("any field") { text in
            let headers = HTTPHeaders([HTTPHeaders.Field(name: text, value: text)])
            let other = HTTPHeaders([HTTPHeaders.Field(name: "e\(text)", value: "e\(text)")])
            _ = (headers == other, headers.hashValue, headers["ETag"], headers.description)
            _ = (headers.values("Vary"), HTTPHeaders(headers.fields + other.fields)[text])
        },
    ]

    #if os(Linux)
    @Test("C97: Alt-Svc as well")
    func alternatives() async {
        let origin = Origin(scheme: "https", host: "x.test", port: nil)
        await growth(of: Reader("Alt-Svc") { _ = CurlAlternatives([$0], of: origin) })
    }
    #endif

    // MARK: Answers and events

    private static func rejection(_ code: String) -> ServiceError {
        .rejected(Rejection(status: 400, code: code))
    }

    private static let answers = [
        Reader("a redirect of a sign-in") { text in
            let answer = RedirectAnswer("https://app.test/?state=\(text)&\(text)=a#\(text)")
            _ = try? answer.value("state")
        },
        Reader("a request to the loopback receiver") { text in
            _ = ReceiverRequest(Array("GET /?\(text) HTTP/1.1\r\nHost: \(text)\r\n\(text): a\r\n\r\n".utf8))
        },
        Reader("a token answer") { text in
            for name in ["access_token", "token_type", "scope", "expires_in", "error", "refresh_token", ""] {
                let value = text.replacing("\"", with: "\\\"")
                let object = Data("{\"access_token\":\"a\",\"\(name.isEmpty ? value : name)\":\"\(value)\"}".utf8)
                let answer = try? FastJSONDecoder().decode(OAuthAnswer.self, from: object)
                _ = answer?.type.map { $0 == "Bearer" }
            }
        },
        Reader("the code of a refusal") { text in
            let error = rejection(text)
            var polls = DevicePolls(interval: .seconds(5))
            _ = (error.endOfSession, polls.next(after: error))
        },
        Reader("an ID token") { text in
            let claims = Data("{\"iss\":\"\(text)\",\"aud\":\"\(text)\",\"\(text)\":1}".utf8)
            let token = "a.\(Base64URL.encode(Array(claims))).\(text)"
            _ = try? IDTokenCheck(issuer: "https://x.test", clientID: "a").check(token, at: now)
            _ = JSONWebToken(text)
        },
        Reader("an event") { text in
            var parser = EventStreamParser(limit: 1 << 20)
            parser.append(Data("id: \(text)\nevent: \(text)\ndata: \(text)\n\(text): a\n\n".utf8))
            guard let event = try? parser.next() else { return }
            _ = (event == ServerSentEvent("a"), event.hashValue)
        },
    ]

    @Test("C97: what a program compares with the texts that it is given takes no longer either")
    func programs() async throws {
        let text = Self.marks(40_000)
        let network = scripted()
        network.onAny {
            ScriptedReply.status(
                200, headers: ["X-Text": text, "Content-Type": "text/plain"], body: text + "\n\(text)"
            ).always
        }
        let client = testClient(network)
        let reply = try await client.reply(to: Endpoint<String>.get("a"))
        let lines = try await client.stream(.get("a")).lines.reduce(into: [String]()) { $0.append($1) }
        var parser = EventStreamParser(limit: 1 << 20)
        parser.append(Data("data: \(text)\n\n".utf8))
        let event = try #require(try parser.next())
        let texts = [reply.value, try #require(reply.headers["X-Text"]), event.data] + lines
        // Sorting as many marks takes seconds.
        for text in texts {
            #expect(Growth.seconds { _ = Swift.Set([text, "a"]).contains("b") } < 1)
        }
    }
}
