#if os(Linux)
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Servers that keep libcurl's thread busy: they send as many pieces as they can, with a byte in each.
@Suite(
    "Servers that send bytes one by one",
    .enabled(
        if: Program.openssl.isInstalled && Program.python3.isInstalled, "openssl or python3 is not installed"),
    .timeLimit(.minutes(10)), .serialized)
struct CurlFairnessTests {
    /// What each byte comes in.
    enum Piece: CaseIterable {
        case chunk, encryptedChunk, record, frame
    }

    /// A server that responds to each request with such a body, which never ends.
    private struct Attacker {
        let url: String
        private let servers: [any Sendable]

        init(_ piece: Piece, _ authority: TestAuthority) async throws {
            switch piece {
            case .chunk:
                let server = try LoopbackServer()
                let chunks = Data(String(repeating: "1\r\na\r\n", count: 10_000).utf8)
                let head = Data("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
                server.onAny(LoopbackReply([.write(head), .repeatForever(chunks)]).always)
                (url, servers) = (server.baseURL, [server])
            case .encryptedChunk:
                let pieces = #"b"1\r\na\r\n" * 10000"#
                let script = Self.script("Transfer-Encoding: chunked", pieces)
                let server = try await PythonServer(authority.issue(), script)
                (url, servers) = (server.url, [server])
            case .record:
                let server = try await PythonServer(authority.issue(), Self.script("Connection: close", #"b"a""#))
                (url, servers) = (server.url, [server])
            case .frame:
                let server = try await PythonServer(
                    authority.issue(), speaking: "h2",
                    """
                    def serve(connection, number):
                        greet(connection)
                        streams = set()
                        while True:
                            wait = 0 if streams else None
                            while connection.pending() or select.select([connection], [], [], wait)[0]:
                                type, flags, stream, _ = next_frame(connection)
                                if type == SETTINGS and not flags: connection.sendall(frame(SETTINGS, 1))
                                if type == RESET: streams.discard(stream)
                                if type != HEADERS: continue
                                connection.sendall(frame(HEADERS, END_HEADERS, stream, OK))
                                streams.add(stream)
                                wait = 0
                            connection.sendall(b"".join(frame(DATA, 0, stream, b"a") * 200 for stream in streams))
                    """)
                (url, servers) = (server.url, [server])
            }
        }

        private static func script(_ field: String, _ pieces: String) -> String {
            """
            def serve(connection, number):
                head(connection)
                connection.sendall(b"HTTP/1.1 200 OK\\r\\n\(field)\\r\\n\\r\\n")
                many = \(pieces)
                while True: connection.sendall(many)
            """
        }
    }

    /// 8.1 to 8.6 read frames without end for seconds before they do anything else, now and then, and 8.6 records.
    private static let pieces = Piece.allCases.filter { piece in
        switch piece {
        case .frame: InstalledLibrary.speaksHTTP2 && InstalledLibrary.handlesStreams
        case .record: InstalledLibrary.noticesAlerts
        case .chunk, .encryptedChunk: true
        }
    }

    @Test("C93: calls to another server, timeouts and deadlines do not wait for them", arguments: pieces)
    func starving(_ piece: Piece) async throws {
        let authority = try await TestAuthority()
        let attacker = try await Attacker(piece, authority)
        // A process of its own: here, other tests keep the threads on which calls continue.
        let calls = LongRun.isWanted ? 40 : 5
        let probe = try Child("TransportProbe", ["starving", attacker.url, authority.file, "\(calls)"])
        let (lines, status) = try await probe.end()
        // A signal ends it if a call starves.
        #expect(status == 0)
        let worked = lines.flatMap { $0.split(separator: " ") }.compactMap { Int($0) }
        try #require(worked.count == 3, "\(lines)")
        let (slowest, late, ended) = (worked[0], worked[1], worked[2])
        // In milliseconds for which libcurl's thread has worked, until the call continued. On a busy machine that is
        // not at once, so only a long run checks them.
        guard LongRun.isWanted else { return }
        #expect(slowest < 500 && late < 300 + 500 && ended < 500, "\(worked)")
    }
}
#endif
