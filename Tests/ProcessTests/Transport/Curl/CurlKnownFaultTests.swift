#if os(Linux) && !URLSession
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Servers that exploit published faults of libcurl: what `CurlTransport.knownFaults` names shows, and the transport
/// prevents the others with every version.
@Suite("Published faults of libcurl", .timeLimit(.minutes(10))) struct CurlKnownFaultTests {
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    /// Expects that a fault shows if the transport names it, and only then. A distribution may have fixed it without a
    /// new version.
    private func expect(_ fault: String, shows: Bool) {
        let isNamed = CurlTransport.knownFaults.contains { $0.hasPrefix("\(fault):") }
        let mayBeFixed = isNamed && InstalledLibrary.isSystems
        #expect(shows == isNamed || mayBeFixed, "\(CurlTransport.libraryVersion ?? "")")
    }

    // MARK: Memory

    /// Heads that name as many codings as fit into a line, or as many lines as libcurl 8.23 accepts.
    enum Codings: String, CaseIterable {
        case contentLine, contentLines, transferLine, transferLines

        var fields: String {
            let many = Array(repeating: "gzip", count: 9_600).joined(separator: ",")
            func lines(_ field: String) -> String {
                Array(repeating: field, count: 4_800).joined(separator: "\r\n")
            }
            return switch self {
            case .contentLine: "Content-Encoding: \(many)"
            case .contentLines: lines("Content-Encoding: gzip")
            case .transferLine: "Transfer-Encoding: \(many)"
            case .transferLines: lines("Transfer-Encoding: gzip")
            }
        }
    }

    @Test(
        "CVE-2022-32206, CVE-2023-23916: very many codings take no memory, but for the fault that is named",
        arguments: Codings.allCases)
    func codings(_ codings: Codings) async throws {
        // The first one is as large, but is about nothing.
        let harmless = codings.fields.replacingOccurrences(of: "-Encoding", with: "-X")
        for (path, fields) in [("/harmless", harmless), ("/many", codings.fields)] {
            server.on(.get, path, .raw("HTTP/1.1 200 OK\r\n\(fields)\r\nContent-Length: 2\r\n\r\n[]", then: nil))
        }
        // The address sanitizer keeps memory that was freed, which would count.
        let probe = try Child(
            "TransportProbe", ["peaks", "\(server.baseURL)/harmless", "\(server.baseURL)/many"],
            environment: ["ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=0"])
        let lines = try await probe.end().lines.map { $0.split(separator: " ") }
        try #require(lines.count == 2 && lines.allSatisfy { $0.count == 2 }, "\(lines)")
        #expect(lines.map(\.[0]) == ["200", "malformed"])
        // A chain of decoders takes more than 30 MB.
        let takesMemory = try #require(Int(lines[1][1])) > 20
        if codings == .transferLine {
            expect("CVE-2022-32206", shows: takesMemory)
        } else {
            #expect(!takesMemory, "\(lines)")
        }
    }

    // MARK: What is left from one request to the next

    @Test("CVE-2022-32221, CVE-2023-28322: a request sends its own body, whatever its handle has sent before")
    func bodies() async throws {
        server.onAny { _ in .json("1") }
        let transport = CurlTransport()
        let stream = { (text: String) in HTTPBody.stream(HTTPBody.bytes(Data(text.utf8)).chunks) }
        let sent: [(HTTPMethod, HTTPBody?, String)] = [
            (.put, .bytes(Data("first".utf8)), "first"), (.post, .bytes(Data("2nd".utf8)), "2nd"),
            (.put, stream("streamed"), "streamed"), (.post, .bytes(Data("4th".utf8)), "4th"), (.post, nil, ""),
            (.post, stream("sixth"), "sixth"), (.get, nil, ""), (.post, .bytes(Data("last".utf8)), "last"),
        ]
        for (method, body, _) in sent {
            let request = HTTPRequest(method: method, url: try HTTPURL(server.baseURL + "/x"), body: body)
            #expect(try await transport.send(request, context: TransportContext()).status == 200)
        }
        #expect(server.received.map(\.method) == sent.map(\.0))
        #expect(server.received.map(\.body) == sent.map { Data($0.2.utf8) })
    }

    @Test("CVE-2021-22901 and others: before 7.80, no connection is used again")
    func connections() async throws {
        server.onAny { _ in .json("1") }
        let urls = (0..<3).map { "\(server.baseURL)/\($0)" }
        #expect(try await Child("TransportProbe", ["series"] + urls).end().lines == ["200", "200", "200"])
        #expect(server.connections == (InstalledLibrary.announcesRequests ? 1 : 3))
    }

    @Test("Cookies, netrc files, redirects and challenges are not libcurl's: it adds nothing, and repeats nothing")
    func unused() async throws {
        let other = try LoopbackServer()
        let challenge = #"Digest realm="x", nonce="1", qop="auth", algorithm=MD5"#
        let headers: HTTPHeaders = [
            "Set-Cookie": "a=1; Path=/", "Location": "\(other.baseURL)/stolen", "WWW-Authenticate": challenge,
        ]
        server.onAny { LoopbackReply.status($0.path == "/401" ? 401 : 302, headers: headers) }
        let scratch = try Scratch()
        try scratch.write("default login ann password secret", to: ".netrc")
        let urls = ["/302", "/401", "/again"].map { server.baseURL + $0 }
        let probe = try Child("TransportProbe", ["series"] + urls, environment: ["HOME": scratch.folder])
        #expect(try await probe.end().lines == ["302", "401", "302"])
        #expect(server.received.map(\.path) == ["/302", "/401", "/again"] && other.connections == 0)
        let kept: Set = ["cookie", "authorization", "referer"]
        #expect(server.received.allSatisfy { $0.headers.allSatisfy { !kept.contains($0.name.lowercased()) } })
    }
}

/// Those that need HTTP/2.
@Suite(
    "Published faults of libcurl over HTTP/2",
    .enabled(if: Program.openssl.isInstalled && Program.python3.isInstalled, "openssl or python3 is not installed"),
    .enabled(if: InstalledLibrary.speaksHTTP2, InstalledLibrary.speaksNoHTTP2), .timeLimit(.minutes(10)))
struct CurlKnownHTTP2FaultTests {
    private let authority: TestAuthority

    init() async throws {
        authority = try await TestAuthority()
    }

    /// Starts a server, sends it requests in a process of its own, in which freed memory is overwritten, and returns
    /// what came of them and what the server has noted. A crash fails the test, and so does a timeout.
    private func outcomes(
        of requests: [String], _ script: String
    ) async throws -> (outcomes: [String], notes: [String]) {
        let server = try await PythonServer(authority.issue(), speaking: "h2", script)
        let series = requests.map { "\($0)\(server.url)/x" }
        let probe = try Child(
            "TransportProbe", ["series", "authorities=\(authority.file)"] + series,
            environment: ["MALLOC_PERTURB_": "165"])
        let (lines, status) = try await probe.end()
        #expect(status == 0 && lines.count == requests.count, "\(lines)")
        return (lines, server.stop())
    }

    @Test(
        "CVE-2026-92392: uploads that are refused over HTTP/2 fail, and do not end the process",
        arguments: ["REFUSED_STREAM": 7, "HTTP_1_1_REQUIRED": 13])
    func refusedUploads(name: String, code: Int) async throws {
        let (lines, notes) = try await outcomes(
            of: Array(repeating: "PUT", count: 20),
            """
            def serve(connection, number):
                if connection.selected_alpn_protocol() != "h2": return
                greet(connection)
                count = 0
                while True:
                    stream, _ = next_request(connection)
                    # Before or after the first bytes of the body.
                    if number % 2 == 0 and count == 0: next_frame(connection)
                    count += 1
                    connection.sendall(frame(RESET, 0, stream, struct.pack(">I", \(code))))
                    note("refused")
            """)
        #expect(lines.first == "reset" && !lines.contains("200"), "\(lines)")
        #expect(notes.contains("refused"))
    }

    @Test("#11426: an upload whose connection the server closes does not end at its timeout")
    func closedUploads() async throws {
        let (lines, _) = try await outcomes(
            of: Array(repeating: "PUT", count: 20),
            """
            def serve(connection, number):
                greet(connection)
                stream, _ = next_request(connection)
                if number % 4 > 1: connection.sendall(frame(GOAWAY, 0, 0, struct.pack(">II", stream, 0)))
                # With unread bytes of the body, that is a reset; otherwise the client sees the end first.
                if number % 2 == 0: return
                end(connection)
                plain = socket.socket(fileno=connection.detach())
                plain.setblocking(True)
                plain.shutdown(socket.SHUT_WR)
                while plain.recv(65536): pass
            """)
        #expect(lines.allSatisfy { ["reset", "truncated"].contains($0) }, "\(lines)")
    }

    @Test("CVE-2024-2398, CVE-2026-18924: a server is told not to push, and the call fails if it does")
    func pushes() async throws {
        // A connection on a busy machine may not come about in time; then there is no note.
        var notes: [String] = []
        while notes.isEmpty {
            let server = try await PythonServer(
                authority.issue(), speaking: "h2",
                """
                def serve(connection, number):
                    greet(connection)
                    while True:
                        type, flags, stream, payload = next_frame(connection)
                        if type == SETTINGS and not flags:
                            connection.sendall(frame(SETTINGS, 1))
                            # SETTINGS_ENABLE_PUSH, which is 1 unless it is said.
                            note("push: %d" % dict(struct.iter_unpack(">HI", payload)).get(2, 1))
                        if type == HEADERS:
                            fields = b"\\x82\\x87\\x84\\x41\\x01a" + b"\\x00\\x01a\\x01b" * 2000
                            connection.sendall(frame(5, END_HEADERS, stream, struct.pack(">I", 2) + fields))
                            connection.sendall(frame(HEADERS, END_HEADERS | END_STREAM, stream, OK))
                """)
            let client = APIClient(server.url) {
                $0.transport = authority.transport()
                $0.retry = .never
            }
            // libcurl 8.1 to 8.12 does not notice that its HTTP/2 library has ended the connection.
            let endpoint = Endpoint<NoContent>.get("x").timeout(.seconds(3))
            await #expect(throws: ServiceError.self) { try await client.run(endpoint) }
            await client.shutdown()
            notes = server.stop()
        }
        #expect(notes == ["push: 0"])
    }
}
#endif
