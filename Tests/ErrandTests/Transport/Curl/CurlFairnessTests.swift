#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Servers that keep libcurl's thread busy: they send as many pieces as they can, with a byte in each.
@Suite(
    "Servers that send bytes one by one",
    .enabled(
        if: Program.openssl.isInstalled && Program.python3.isInstalled, "openssl or python3 is not installed"),
    .timeLimit(.minutes(2)), .serialized)
struct CurlFairnessTests {
    private static let connections = 8
    private static let limit = Duration.milliseconds(500)

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

    private func client(_ url: String, _ transport: CurlTransport) -> APIClient {
        APIClient(url) {
            $0.transport = transport
            $0.rateLimit = .unlimited
            $0.retry = .never
            $0.timeout = .seconds(60)
            $0.responseByteLimit = 1 << 40
        }
    }

    @Test("C93: calls to another server, timeouts and deadlines do not wait for them", arguments: Piece.allCases)
    func starving(_ piece: Piece) async throws {
        let authority = try await TestAuthority()
        let attacker = try await Attacker(piece, authority)
        let server = try LoopbackServer()
        server.onAny { _ in .json("1") }
        let transport = authority.transport()
        let attacked = client(attacker.url, transport)
        let innocent = client(server.baseURL, transport)
        // One call at least has begun to receive before the others are measured; half of them are read as streams.
        let (pieces, came) = AsyncStream.makeStream(of: Void.self)
        let attacks = (0..<Self.connections).map { number in
            Task {
                while !Task.isCancelled {
                    if number.isMultiple(of: 2) {
                        guard let stream = try? await attacked.stream(.get("x")) else { continue }
                        do { for try await _ in stream.chunks { came.yield() } } catch { continue }
                    } else {
                        _ = try? await attacked.run(Endpoint<Data>.get("x"))
                    }
                }
            }
        }
        var arrivals = pieces.makeAsyncIterator()
        await arrivals.next()
        let clock = ContinuousClock()
        // The same calls on a thread of their own show what the attack costs the machine, and other tests beside it.
        let apart = client(server.baseURL, CurlTransport())
        var (slowest, usual) = (Duration.zero, Duration.zero)
        for _ in 0..<40 where slowest < Self.limit + usual * 10 {
            usual = max(usual, try await duration(of: apart, clock))
            slowest = max(slowest, try await duration(of: innocent, clock))
        }
        let limit = Self.limit + usual * 10
        #expect(slowest < limit)
        let late = await clock.measure {
            _ = try? await attacked.run(Endpoint<Data>.get("x").deadline(.milliseconds(300)))
        }
        #expect(late < .milliseconds(300) + limit)
        for attack in attacks { attack.cancel() }
        let ended = await clock.measure { for attack in attacks { await attack.value } }
        #expect(ended < limit)
        await transport.shutdown()
    }

    private func duration(of client: APIClient, _ clock: ContinuousClock) async throws -> Duration {
        let start = clock.now
        #expect(try await client.run(Endpoint<Int>.get("x")) == 1)
        return start.duration(to: clock.now)
    }
}
#endif
