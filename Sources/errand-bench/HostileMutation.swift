import Errand
import ErrandSimulation
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One change that a hostile server makes to a response.
struct HostileMutation: Sendable {
    let name: String
    /// The allowed outcomes of a call whose reply has only this change; `nil` for any typed error, or the value.
    let allowed: Set<String>?
    let change: @Sendable (inout HostileReply, inout HostileReply.Random) -> Void

    init(
        _ name: String, _ allowed: Set<String>? = nil,
        _ change: @escaping @Sendable (inout HostileReply, inout HostileReply.Random) -> Void
    ) {
        self.name = name
        self.allowed = allowed
        self.change = change
    }

    static let all = statusLines + heads + lengths + chunked + interim + codings + endings + bytes

    private static let refused: Set<String> = ["transport_malformed", "transport_truncated", "transport_reset"]
    private static let malformed: Set<String> = ["transport_malformed"]

    private static let statusLines: [HostileMutation] = [
        HostileMutation("a status from 000 to 999") { reply, random in
            let digits = String(random.int(0...999))
            reply.statusLine = "HTTP/1.1 " + String(repeating: "0", count: 3 - digits.count) + digits + " Any"
        },
        HostileMutation("a status from 600 to 999", ["server_failure", "transport_malformed"]) { reply, random in
            reply.statusLine = "HTTP/1.1 \(random.int(600...999)) Beyond"
        },
        HostileMutation("a strange status line") { reply, random in
            reply.statusLine = random.one(of: [
                "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 20", "HTTP/1.1 2000 OK", "HTTP/1.1 -200 OK", "HTTP/1.1 +200 OK",
                "HTTP/1.1 2x0 OK", "HTTP/1.1\t200\tOK", "HTTP/1.1  200 OK", "HTTP/1.2 200 OK", "HTTP/9.9 200 OK",
                "HTTP/2 200", "HTTP/3 200", "HTTP/0.9 200 OK", "HTTP/1.0 200 OK", "http/1.1 200 OK", "HTTP 200 OK",
                "ICY 200 OK", "RTSP/1.0 200 OK", "", " HTTP/1.1 200 OK", "HTTP/1.1 200 O\0K", "HTTP/1.1 200 \u{e9}",
                "HTTP/1.1 99999999999999999999 OK", "SSH-2.0-OpenSSH_9.2", "{}",
            ])
        },
        HostileMutation("an endless status line") { reply, random in
            reply.statusLine += String(repeating: "x", count: random.one(of: [1000, 30_000, 200_000, 600_000]))
        },
        HostileMutation("101, unasked", refused) { reply, _ in
            reply.statusLine = "HTTP/1.1 101 Switching Protocols"
            reply.lines.append(Data("Upgrade: websocket\r\nConnection: Upgrade".utf8))
        },
    ]

    private static let heads: [HostileMutation] = [
        HostileMutation("a first line that is folded") { reply, random in
            reply.lines.insert(Data(random.one(of: [" X: y", "\tX: y", " ", "\t"]).utf8), at: 0)
        },
        HostileMutation("a strange line") { reply, random in
            let line = random.one(of: [
                Data("no colon".utf8), Data(": no name".utf8), Data("X : y".utf8), Data("X\0Y: z".utf8),
                Data("X: a\0b".utf8), Data([0x58, 0x3A, 0x20, 0xE9, 0xFC]), Data([0xE9, 0x3A, 0x20, 0x61]),
                Data("X: a\r\n folded\r\n\tagain".utf8), Data("X: a\rb".utf8), Data("X: a\nY: b".utf8),
                Data("X:".utf8), Data("\u{1}: \u{2}".utf8), Data("X: \u{1b}[31m".utf8),
                Data("HTTP/1.1 200 OK".utf8), Data("Location: /\u{0}".utf8), Data("Connection: close, x".utf8),
                Data("Retry-After: 99999999999999999999".utf8), Data("Date: never".utf8),
                Data("Set-Cookie: a=b; Domain=.com".utf8), Data("Strict-Transport-Security: max-age=1".utf8),
                Data("Alt-Svc: h3=\":1\"".utf8), Data("WWW-Authenticate: NTLM \u{0}\u{1}".utf8),
                Data("Proxy-Authenticate: Negotiate".utf8), Data("Transfer-Encoding: identity".utf8),
                Data("Content-Range: bytes 5-1/0".utf8), Data("RateLimit: \"x\";r=-1;t=-9".utf8),
                Data("Link: <<>>; rel=next".utf8), Data("Upgrade: h2c".utf8), Data("Trailer: Content-Length".utf8),
            ])
            reply.lines.insert(line, at: random.int(0...reply.lines.count))
        },
        HostileMutation("a line of up to 512 KB") { reply, random in
            reply.lines.append(Data("X: ".utf8) + Data(repeating: 0x78, count: 1 << random.int(10...19)))
        },
        HostileMutation("ten thousand lines") { reply, random in
            let line = random.one(of: ["X: y", "X:", "x", "A: \(String(repeating: "b", count: 60))"])
            reply.lines += Array(repeating: Data(line.utf8), count: random.one(of: [100, 100, 1000, 10_000]))
        },
        HostileMutation("another content type", ["decodingFailed", "value"]) { reply, random in
            reply.lines[0] = Data(
                random.one(of: ["Content-Type: text/html", "Content-Type: ", "Content-Type: ;;;", "X: y"]).utf8)
        },
        HostileMutation("a redirect to somewhere", nil) { reply, random in
            reply.statusLine = "HTTP/1.1 \(random.one(of: [301, 302, 303, 307, 308, 300, 399])) Go"
            let place = random.one(of: [
                "/", "//", "http://", "http://[", "file:///etc/passwd", "gopher://127.0.0.1/", "\u{1}", "?", "#",
                "http://127.0.0.1:1/", "http://127.0.0.1:99999/", String(repeating: "/x", count: 5000), "",
            ])
            reply.lines.append(Data("Location: \(place)".utf8))
        },
    ]

    private static let lengths: [HostileMutation] = [
        HostileMutation("a length that is no number", malformed) { reply, random in
            reply.framing = .length
            reply.length = random.one(of: [
                "1, 2", "1x", "+1", "-1", "0x9", "1 2", "nine", "99999999999999999999", "1.5", "\(1 << 62)0",
            ])
        },
        HostileMutation("a length that is too large", ["transport_truncated", "transport_tooLarge"]) { reply, random in
            reply.framing = .length
            reply.length = "\(reply.body.count + random.one(of: [1, 100, 1 << 31, 1 << 40, Int.max >> 1]))"
            reply.end = .close
        },
        // The first bytes are not JSON, and the rest must not become the response of the next call.
        HostileMutation("a length that is too small", ["decodingFailed"]) { reply, random in
            reply.framing = .length
            reply.length = "\(random.int(0...8))"
        },
        HostileMutation("two lengths", malformed) { reply, random in
            reply.framing = .length
            reply.lines.append(Data("Content-Length: \(random.one(of: ["1", "2", "1000"]))".utf8))
        },
        HostileMutation("a length and chunks") { reply, random in
            reply.framing = .chunks
            reply.lines.append(Data("Content-Length: \(random.one(of: ["1", "9", "1000", "x"]))".utf8))
        },
    ]

    private static let chunked: [HostileMutation] = [
        HostileMutation("a chunk's size that is none", malformed) { reply, random in
            reply.framing = .chunks
            let size = random.one(of: ["-1", "x", "", "FFFFFFFFFFFFFFFFF", "g", "\u{0}"])
            reply.chunks = Data("\(size)\r\n".utf8) + reply.body + Data("\r\n0\r\n".utf8)
        },
        HostileMutation("a chunk's size in disguise", malformed) { reply, random in
            reply.framing = .chunks
            let size = String(reply.body.count, radix: 16)
            reply.chunks =
                Data("\(random.one(of: ["0x", "+"]))\(size)\r\n".utf8) + reply.body + Data("\r\n0\r\n".utf8)
        },
        HostileMutation("a chunk that is not finished", ["transport_truncated", "transport_malformed"]) {
            reply, random in
            reply.framing = .chunks
            reply.chunks = Data("\(random.one(of: ["ffff", "7fffffffffffffff", "fffffff"]))\r\n".utf8) + reply.body
            reply.end = .close
        },
        HostileMutation("chunks with extensions", ["value", "transport_malformed"]) { reply, random in
            reply.framing = .chunks
            let size = String(reply.body.count, radix: 16)
            let note = random.one(of: [";a=b", "; a=\"b;c\"", " ", ";" + String(repeating: "x", count: 5000)])
            reply.chunks = Data("\(size)\(note)\r\n".utf8) + reply.body + Data("\r\n0\(note)\r\n".utf8)
        },
        HostileMutation("chunks of one byte", ["value"]) { reply, _ in
            reply.framing = .chunks
            reply.body = reply.body.prefix(2000)
            reply.chunks = reply.body.reduce(into: Data()) { $0 += HostileReply.chunk(Data([$1])) } + Data("0\r\n".utf8)
        },
        HostileMutation("strange ends of lines in chunks") { reply, random in
            reply.framing = .chunks
            let size = String(reply.body.count, radix: 16)
            let end = random.one(of: ["\n", "\r", "\r\r\n", "\n\n", "xx"])
            reply.chunks = Data("\(size)\(end)".utf8) + reply.body + Data("\(end)0\(end)".utf8)
        },
        HostileMutation("a broken trailer") { reply, random in
            reply.framing = .chunks
            let line = random.one(of: [
                "no colon", " folded: first", "Content-Length: 1", "X: \0", ":", "HTTP/1.1 200 OK", "X: y\rz",
            ])
            reply.trailer = Data("\(line)\r\n".utf8)
        },
        HostileMutation("a trailer of a megabyte", ["transport_malformed"]) { reply, _ in
            reply.framing = .chunks
            let line = Data("X-Trailer: \(String(repeating: "y", count: 1000))\r\n".utf8)
            reply.trailer = (0..<1000).reduce(into: Data()) { all, _ in all += line }
        },
    ]

    private static let interim: [HostileMutation] = [
        HostileMutation("a few interim answers", ["value"]) { reply, random in
            for _ in 0..<random.int(1...3) {
                reply.before += LoopbackReply.head(random.one(of: [100, 102, 103]), ["X-Interim": "1"])
            }
        },
        HostileMutation("a flood of interim answers") { reply, random in
            let one = LoopbackReply.head(random.one(of: [100, 102, 103, 199]), ["X-Interim": "1"])
            for _ in 0..<random.one(of: [10, 100, 2000]) { reply.before += one }
        },
        HostileMutation("a head without a body, which is there") { reply, random in
            reply.statusLine = "HTTP/1.1 \(random.one(of: [204, 304, 205])) None"
        },
    ]
}
