#if os(Linux)
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// A server in a few lines of Python, for what no proper server does: TLS, and HTTP/2 frame by frame.
final class PythonServer: Sendable {
    /// Its URL, without a path.
    let url: String
    private let scratch: Scratch
    private let process: ServerProcess

    /// Starts a server. `script` defines `serve(connection, number)`, which runs on a thread of its own for each
    /// connection over TLS; `stop()` returns what it has passed to `note`.
    init(_ certificate: TestCertificate, speaking protocols: String = "http/1.1", _ script: String) async throws {
        scratch = try Scratch()
        try scratch.write(Self.library + "\n" + script + "\nrun()\n", to: "server.py")
        process = try await ServerProcess(
            .python3, [scratch.path("server.py"), certificate.file, certificate.key, protocols], readyAfter: "ready")
        let digits = process.greeting.split(separator: "ready ").last?.prefix { $0.isNumber }
        url = "https://localhost:\(try #require(digits.flatMap { Int($0) }))"
    }

    /// Puts TLS in front of a `LoopbackServer`: each connection is forwarded, byte by byte. It ends with a TLS closing
    /// alert, unless it is `abrupt`. It makes a note each time bytes that contain `word` have reached the client, and
    /// one when the end of a connection has, if `notesEnds`.
    static func front(
        of server: LoopbackServer, _ certificate: TestCertificate, isAbrupt: Bool = false, noting word: String = "",
        notesEnds: Bool = false
    ) async throws -> PythonServer {
        try await PythonServer(
            certificate,
            """
            def serve(connection, number):
                server = socket.create_connection(("127.0.0.1", \(server.port)))
                while True:
                    ready = [connection] if connection.pending() else select.select([connection, server], [], [])[0]
                    if connection in ready:
                        bytes = connection.recv(65536)
                        if not bytes: break
                        server.sendall(bytes)
                    if server in ready:
                        bytes = server.recv(65536)
                        if not bytes: break
                        connection.sendall(bytes)
                        if b"\(word)" and b"\(word)" in bytes:
                            settle(connection)
                            note("arrived")
                server.close()
                if not \(isAbrupt ? "True" : "False"): end(connection)
                if \(notesEnds ? "True" : "False"):
                    try:
                        connection.shutdown(socket.SHUT_WR)
                        settle(connection)
                    # The client may have closed it before.
                    except OSError: pass
                    note("ended")
            """)
    }

    /// Waits until it has made a note, which `stop` does not return then.
    func note() async {
        await process.said()
    }

    /// Ends the server and returns its notes.
    func stop() -> [String] {
        process.stop().split(separator: "\n").map(String.init)
    }

    private static let library = """
        import fcntl, select, socket, ssl, struct, sys, termios, threading, time

        lock = threading.Lock()

        def note(text):
            # In one piece, also where Python buffers nothing: a reader that waits for a note reads what is there.
            with lock:
                sys.stdout.write(text + "\\n")
                sys.stdout.flush()

        # Waits until the other side's system has acknowledged all that was sent: a busy one does not have it at once.
        def settle(connection):
            while any(fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, bytes(4))): time.sleep(0.001)

        # Says that there is nothing more to come, without waiting for the other side to say so too.
        def end(connection):
            connection.setblocking(False)
            try: connection.unwrap()
            except (OSError, ValueError): pass

        def exactly(connection, count):
            data = b""
            while len(data) < count:
                more = connection.recv(count - len(data))
                if not more: raise EOFError
                data += more
            return data

        # The head of a request of HTTP/1.
        def head(connection):
            data = b""
            while not data.endswith(b"\\r\\n\\r\\n"): data += exactly(connection, 1)
            return data.decode()

        # HTTP/2: a frame to send, the next that came (type, flags, stream, payload), and a head that says 200.
        DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8
        END_STREAM, END_HEADERS = 1, 4
        OK = b"\\x88"

        def frame(type, flags=0, stream=0, payload=b""):
            return struct.pack(">I", len(payload))[1:] + bytes([type, flags]) + struct.pack(">I", stream) + payload

        def next_frame(connection):
            start = exactly(connection, 9)
            payload = exactly(connection, int.from_bytes(start[:3], "big"))
            return start[3], start[4], int.from_bytes(start[5:], "big"), payload

        # Begins a connection of HTTP/2.
        def greet(connection, settings=b""):
            exactly(connection, 24)
            connection.sendall(frame(SETTINGS, 0, 0, settings))

        # The heads of requests that came while the server waited for something else, by connection.
        heads = {}

        # The stream of the next request, whose head has come; and whether it has no body.
        def next_request(connection):
            waiting = heads.setdefault(connection, [])
            while not waiting:
                type, flags, stream, _ = next_frame(connection)
                if type == SETTINGS and not flags: connection.sendall(frame(SETTINGS, 1))
                if type == HEADERS: waiting.append((stream, flags & END_STREAM))
            return waiting.pop(0)

        # Waits until the client has read all frames that were sent: only then does it answer a PING.
        def until_read(connection):
            connection.sendall(frame(PING, 0, 0, bytes(8)))
            while True:
                type, flags, stream, _ = next_frame(connection)
                if type == SETTINGS and not flags: connection.sendall(frame(SETTINGS, 1))
                if type == HEADERS: heads.setdefault(connection, []).append((stream, flags & END_STREAM))
                if type == PING and flags: return

        def run():
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[1], sys.argv[2])
            context.set_alpn_protocols(sys.argv[3].split(","))
            listener = socket.create_server(("127.0.0.1", 0))
            print("ready", listener.getsockname()[1], flush=True)
            number = 0
            while True:
                plain, _ = listener.accept()
                plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                number += 1
                threading.Thread(target=begin, args=(context, plain, number), daemon=True).start()

        def begin(context, plain, number):
            try:
                with context.wrap_socket(plain, server_side=True) as connection: serve(connection, number)
            except (OSError, EOFError): pass
        """
}
#endif
