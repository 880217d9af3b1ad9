#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// A single request on an idle connection is sent by the thread of its caller, and everything else by libcurl's.
@Suite(
    "The thread that sends", .enabled(if: InstalledLibrary.announcesRequests, InstalledLibrary.announcesNothing),
    .timeLimit(.minutes(10)))
struct CurlSendingThreadTests {
    /// The thread on which libcurl was about to send a request.
    private struct Sender {
        var isLibcurls = false
        var blocksPipeSignal = false

        static var current: Sender {
            var mask = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &mask)
            let name = FileManager.default.contents(atPath: "/proc/thread-self/comm")
            return Sender(
                isLibcurls: name == Data("errand.curl\n".utf8), blocksPipeSignal: sigismember(&mask, SIGPIPE) == 1)
        }
    }

    private let server: LoopbackServer
    private let transport: CurlTransport

    init() throws {
        server = try LoopbackServer()
        server.onAny { $0.path == "/silent" ? .silence : .json("1") }
        transport = Self.newTransport()
    }

    private static func newTransport() -> CurlTransport {
        var options = CurlTransport.Options()
        options.proxy = .none
        // What holds it up would send the next request to another.
        options.loops = 1
        return CurlTransport(options)
    }

    /// Sends a request, and calls `sending` on the thread that is about to send it.
    private func send(
        _ path: String = "/x", headers: HTTPHeaders = [:], body: Data? = nil, over transport: CurlTransport? = nil,
        sending: @escaping @Sendable (Sender) -> Void = { _ in }
    ) async throws -> HTTPResponse {
        let url = try HTTPURL(server.baseURL + path)
        let request = HTTPRequest(
            method: body == nil ? .get : .post, url: url, headers: headers, body: body.map { .bytes($0) })
        let context = TransportContext { phase in
            if phase == .waitingForResponse { sending(.current) }
        }
        return try await (transport ?? self.transport).send(request, context: context)
    }

    private func sender(
        of path: String = "/x", body: Data? = nil, over transport: CurlTransport? = nil
    ) async throws -> Sender {
        let sender = Noted(Sender())
        let response = try await send(path, body: body, over: transport) { sender.value = $0 }
        #expect(response.status == 200)
        return sender.value
    }

    /// Sends until a request is sent by its caller: right after the one before, libcurl's thread may not wait yet.
    @discardableResult
    private func sendUntilSentByCaller(over transport: CurlTransport? = nil) async throws -> Sender {
        while true {
            let sender = try await sender(over: transport)
            if !sender.isLibcurls { return sender }
        }
    }

    @Test("libcurl's thread opens a connection, and a caller uses it; SIGPIPE is blocked on both if it can come")
    func callers() async throws {
        let first = try await sender()
        #expect(first.isLibcurls)
        let second = try await sendUntilSentByCaller()
        for sender in [first, second] where InstalledLibrary.raisesPipeSignal { #expect(sender.blocksPipeSignal) }
        #expect(server.connections == 1)
    }

    @Test(
        "a SIGPIPE that comes while a caller sends does not end the process, and is not kept for later",
        .enabled(if: InstalledLibrary.raisesPipeSignal, InstalledLibrary.raisesNone))
    func pipeSignal() async throws {
        let isPending = Noted(true)
        var wasRaised = false
        while !wasRaised {
            let raised = Noted(false)
            _ = try await send { sender in
                guard !sender.isLibcurls else { return }
                raise(SIGPIPE)
                raised.value = true
            }
            wasRaised = raised.value
        }
        // It would come now, or be pending on the thread that has sent, which is one of those that send now.
        for _ in 0..<20 {
            _ = try await send { sender in
                var pending = sigset_t()
                sigpending(&pending)
                isPending.value = sigismember(&pending, SIGPIPE) == 1
            }
            #expect(!isPending.value)
        }
    }

    @Test("a large body, and a request beside another one, are sent by libcurl's thread")
    func others() async throws {
        _ = try await sendUntilSentByCaller()
        #expect(try await sender(body: Data(count: 100_000)).isLibcurls)
        let before = server.received.count
        let silent = Task { try await send("/silent") }
        await server.received(atLeast: before + 1)
        for _ in 0..<20 { #expect(try await sender().isLibcurls) }
        silent.cancel()
        await #expect(throws: ServiceError.cancelled) { try await silent.value }
        _ = try await sendUntilSentByCaller()
    }

    @Test("D14: a caller that leaves libcurl something to do in a second wakes its thread, which waited for longer")
    func dueTime() async throws {
        server.onHead(.post, "/waits") { _ in
            LoopbackReply([.readBody, .write(Data("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8))])
        }
        // The server does not say `100 Continue`, so libcurl sends the body after a second. Its thread has waited since
        // the request before, for ten seconds if it is not woken. On a busy machine, the quickest of a few counts.
        var durations: [Duration] = []
        while durations.count < 3, durations.allSatisfy({ $0 > .seconds(7) }) {
            try await sendUntilSentByCaller()
            let (start, sender) = (ContinuousClock.now, Noted(Sender()))
            let response = try await send("/waits", headers: ["Expect": "100-continue"], body: Data("sent".utf8)) {
                sender.value = $0
            }
            #expect(response.status == 200)
            if !sender.value.isLibcurls { durations.append(start.duration(to: .now)) }
        }
        #expect(durations.contains { $0 < .seconds(7) }, "\(durations)")
    }

    @Test("a call that is cancelled at the moment when its caller sends ends, and the next one succeeds")
    func cancelled() async throws {
        for _ in 0..<20 {
            _ = try await sendUntilSentByCaller()
            let (moments, moment) = AsyncStream.makeStream(of: Void.self)
            let task = Task {
                try await send("/silent") { _ in
                    // On libcurl's thread there is none.
                    withUnsafeCurrentTask { $0?.cancel() }
                    moment.yield()
                }
            }
            for await _ in moments { break }
            task.cancel()
            await #expect(throws: ServiceError.cancelled) { try await task.value }
        }
    }

    @Test("a call whose transport is shut down at the moment when its caller sends ends")
    func shutDown() async throws {
        var sentByCaller = 0
        while sentByCaller < 20 {
            let transport = Self.newTransport()
            try await sendUntilSentByCaller(over: transport)
            let (shutdown, sender) = (Noted<Task<Void, Never>?>(nil), Noted(Sender()))
            let error = await #expect(throws: ServiceError.self) {
                try await send("/silent", over: transport) {
                    sender.value = $0
                    shutdown.value = Task { await transport.shutdown() }
                }
            }
            guard case .transport(let failure) = error else { throw try #require(error) }
            #expect(failure.kind == .unavailable, "\(failure)")
            await shutdown.value?.value
            // Now and then libcurl's thread is not waiting yet, and sends it. Then it ends likewise.
            if !sender.value.isLibcurls { sentByCaller += 1 }
        }
    }

    @Test("a connection that the server has closed meanwhile is replaced by libcurl's thread")
    func closedMeanwhile() async throws {
        for round in 1...20 {
            _ = try await sendUntilSentByCaller()
            server.closeConnections()
            let senders = Noted<[Sender]>([])
            #expect(try await send { sender in senders.update { $0.append(sender) } }.status == 200)
            #expect(senders.value.last?.isLibcurls == true)
            #expect(server.connections == round + 1)
        }
    }

    @Test("C11: a connection that dies under a POST of its caller: the server sees one copy")
    func dying() async throws {
        server.on(.post, "/x", .close.always)
        for round in 1...20 {
            _ = try await sendUntilSentByCaller()
            let error = await #expect(throws: ServiceError.self) { try await send(body: Data("sent".utf8)) }
            #expect(error?.mayHaveReachedServer == true)
            #expect(server.received.count { $0.method == .post } == round)
        }
    }

    @Test("a redirect that keeps the method sends its body again on the same connection")
    func redirected() async throws {
        server.on(.post, "/old", LoopbackReply.status(307, headers: ["Location": "/new"]).always)
        let client = APIClient(server.baseURL) {
            $0.transport = transport
            $0.rateLimit = .unlimited
            $0.timeout = .seconds(60)
        }
        for round in 1...20 {
            let endpoint = Endpoint<Int>.post("old", body: .data(Data("sent".utf8), contentType: "text/plain"))
            #expect(try await client.run(endpoint) == 1)
            #expect(server.received.count { $0.path == "/new" && $0.body == Data("sent".utf8) } == round)
        }
        #expect(server.connections == 1)
    }

    @Test("many callers at once, and one after the other, share a transport")
    func manyCallers() async throws {
        for _ in 0..<20 {
            _ = try await sendUntilSentByCaller()
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<20 { group.addTask { try await send().status } }
                for try await status in group { #expect(status == 200) }
            }
        }
    }

    @Test(
        "a flood on an idle connection keeps the thread of the next caller no longer than that call may take",
        .enabled(if: Program.openssl.isInstalled && Program.python3.isInstalled, "openssl or python3 is not installed"),
        .enabled(if: InstalledLibrary.speaksHTTP2, InstalledLibrary.speaksNoHTTP2))
    func flood() async throws {
        let authority = try await TestAuthority()
        let server = try await PythonServer(
            authority.issue(), speaking: "h2",
            """
            def serve(connection, number):
                greet(connection)
                while True:
                    stream, _ = next_request(connection)
                    connection.sendall(frame(HEADERS, END_HEADERS | END_STREAM, stream, OK))
                    # Frames of a kind that nobody knows, without end.
                    many = frame(0xbb) * 10000
                    while number == 1:
                        connection.sendall(many)
                        note("flooded")
            """)
        let transport = authority.transport { $0.loops = 1 }
        let client = APIClient(server.url) {
            $0.transport = transport
            $0.rateLimit = .unlimited
            $0.retry = .never
        }
        let endpoint = Endpoint<NoContent>.get("x").timeout(.seconds(1))
        _ = try await client.run(endpoint.timeout(.seconds(60)))
        await server.note()
        await #expect(throws: ServiceError.self) { try await client.run(endpoint) }
        _ = try await client.run(endpoint.timeout(.seconds(60)))
        await client.shutdown()
    }

    #if !URLSession && !LinkedCurl
    @Test(
        "a caller whose connection is found dead opens no other: libcurl's thread does, and the request is sent once",
        .enabled(if: Program.clang.isInstalled, "clang is not installed"),
        .enabled(if: InstalledLibrary.checksRecentConnections, InstalledLibrary.checksNone))
    func deadConnection() async throws {
        let urls = (0..<40).map { "\(server.baseURL)/\($0)" }
        // On a caller's thread, every connection seems to be dead.
        let lines = try await Child.series(
            urls,
            """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <poll.h>
            #include <stdio.h>
            #include <string.h>
            #include <sys/prctl.h>
            #include <sys/socket.h>
            static int is_callers(void) {
                char name[16] = "";
                prctl(PR_GET_NAME, name);
                return strcmp(name, "errand.curl") != 0;
            }
            int poll(struct pollfd *sockets, nfds_t count, int timeout) {
                if (is_callers() && count == 1 && timeout == 0) {
                    puts("dead");
                    sockets[0].revents = POLLERR | POLLNVAL;
                    return 1;
                }
                return ((int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll"))(sockets, count, timeout);
            }
            int connect(int socket, const struct sockaddr *address, socklen_t length) {
                if (is_callers()) puts("connected by its caller");
                return ((int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect"))(
                    socket, address, length);
            }
            """)
        #expect(Set(lines) == ["dead", "200"])
        #expect(lines.count { $0 == "200" } == urls.count)
        #expect(server.received.map(\.path) == (0..<40).map { "/\($0)" })
        #expect(server.connections > 1)
    }

    @Test(
        "a request that the system takes in pieces is sent whole",
        .enabled(if: Program.clang.isInstalled, "clang is not installed"))
    func shortWrites() async throws {
        let urls = (0..<40).map { "\(server.baseURL)/\($0)" }
        // The system takes 50 bytes, then none, and so on.
        let lines = try await Child.series(
            urls,
            """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <errno.h>
            #include <string.h>
            #include <sys/types.h>
            ssize_t send(int socket, const void *bytes, size_t count, int flags) {
                static _Atomic int calls;
                if (count > 50) count = 50;
                if (calls++ % 2 == 1) {
                    errno = EAGAIN;
                    return -1;
                }
                return ((ssize_t (*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send"))(
                    socket, bytes, count, flags);
            }
            """)
        #expect(lines == urls.map { _ in "200" })
        #expect(server.received.map(\.body) == urls.map { _ in Data("sent".utf8) })
        #expect(server.connections == 1)
    }
    #endif
}
#endif
