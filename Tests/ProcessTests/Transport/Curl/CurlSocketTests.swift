#if os(Linux)
import Testing

/// The shim's records of sockets, in a small program of their own.
@Suite(
    "Sockets that libcurl opens", .enabled(if: Program.clang.isInstalled, "clang is not installed"),
    .timeLimit(.minutes(10)))
struct CurlSocketTests {
    /// Runs a program that consists of these lines, and returns what it prints.
    private func run(_ lines: String) async throws -> String {
        let main = Self.beginning + "\nint main(void) {\nstart();\n\(lines)\n}\n"
        return try await ShimProgram.run(main, with: ["sockets.c", "ports.c", "flood.c"])
    }

    @Test("a flood never ends a socket of the program, under a descriptor that libcurl has closed by itself")
    func programsOwn() async throws {
        let said = try await run(
            """
            arrive();
            printf("its own: %s\\n", ccurl_sockets_fullest(&sockets) == opened ? "found" : "not found");
            close(opened);
            int pair[2];
            socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
            dup2(pair[0], opened);
            if (write(pair[1], "private", 7) != 7) return 1;
            printf("the program's: %s\\n", ccurl_sockets_fullest(&sockets) < 0 ? "not found" : "found");
            """)
        #expect(said == "its own: found\nthe program's: not found\n")
    }

    @Test("a flood is ended on the connection that is read, although the thread was to work on another")
    func floodBesides() async throws {
        let said = try await run(
            """
            static ccurl_flood flood;
            ccurl_flood_init(&flood);
            int peer, flooded = connection(&peer);
            watch()->is_encrypted = sockets.watches[flooded].is_encrypted = true;
            ccurl_flood_begin(&flood, &sockets, opened);
            // It sees the turn, finds that it is long, and finds out what is read.
            for (int i = 0; i < 3; i++) {
                ccurl_flood_watch(&flood, &sockets);
                printf("%s, ", is_shut(flooded) ? "ended" : "open");
                if (i < 2) read_for(60, flooded, peer);
            }
            printf("and the other: %s\\n", is_shut(opened) ? "ended" : "open");
            """)
        #expect(said == "open, open, ended, and the other: open\n")
    }

    @Test("C34: the system is asked for a surplus, unless a wait that began after the last response has reported none")
    func surplus() async throws {
        let said = try await run(
            """
            ccurl_transfer a = begun(), b = begun(), c = begun(), d = begun();
            turn();
            ccurl_sockets_note_made(&sockets, &a, true);
            printf("before the end of the first request is noted: %s\\n", notice_surplus(&b));
            end(&a);
            printf("in the turn of that: %s\\n", notice_surplus(&b));
            turn();
            lent = true;
            printf("on another thread: %s\\n", notice_surplus(&b));
            lent = false;
            sockets.waits++;
            printf("after a wait that may not have reported all: %s\\n", notice_surplus(&b));
            turn();
            watch()->watched = 0;
            printf("where nothing is reported: %s\\n", notice_surplus(&b));
            watch()->watched = EPOLLIN;
            printf("after a wait: %s\\n", notice_surplus(&b));
            turn();
            if (ccurl_sockets_is_stale(&sockets, &c)) return 1;
            end(&b);
            turn();
            printf("under a request that began before an end was noted: %s\\n", notice_surplus(&d));
            end(&c);
            turn();
            printf("after its end, and a wait: %s\\n", notice_surplus(&d));
            """)
        #expect(
            said == """
                before the end of the first request is noted: noticed
                in the turn of that: noticed
                on another thread: noticed
                after a wait that may not have reported all: noticed
                where nothing is reported: noticed
                after a wait: not asked for
                under a request that began before an end was noted: noticed
                after its end, and a wait: not asked for

                """)
    }

    @Test("C44: a request knows whether another has joined the connection that was made for it")
    func joined() async throws {
        let said = try await run(
            """
            ccurl_transfer a = begun(), b = begun();
            turn();
            ccurl_sockets_note_made(&sockets, &a, false);
            printf("alone: %d\\n", a.connection.is_joined);
            ccurl_sockets_note_joined(&sockets, a.connection.to_port, a.connection.from_port);
            printf("with another: %d\\n", a.connection.is_joined);
            ccurl_sockets_release(&sockets, &a);
            printf("after its end: %s\\n", watch()->maker ? "known" : "forgotten");
            a.connection.is_joined = false;
            ccurl_sockets_note_joined(&sockets, a.connection.to_port, a.connection.from_port);
            printf("with one that comes later: %d\\n", a.connection.is_joined);
            b.connection.from_port = 1;
            ccurl_sockets_note_made(&sockets, &b, false);
            printf("on a connection that is not known: %d\\n", b.connection.is_joined);
            """)
        #expect(
            said == """
                alone: 0
                with another: 1
                after its end: forgotten
                with one that comes later: 0
                on a connection that is not known: 1

                """)
    }

    /// What the rest of the shim does for the records, and one connection that was opened as libcurl does it.
    private static let beginning = """
        #include "flood.h"
        #include "library.h"
        #include "transfer.h"
        #include <netinet/in.h>
        #include <stdarg.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/epoll.h>
        #include <sys/socket.h>
        #include <unistd.h>

        struct ccurl_transfer { ccurl_connection connection; };
        struct ccurl_api ccurl_api;
        static ccurl_sockets sockets = {.guard = PTHREAD_MUTEX_INITIALIZER};
        static ccurl_transfer first;
        static ccurl_upload upload;
        static int opened, other;
        static bool lent;
        static int (*open_socket)(void *, int, void *);

        static ccurl_code setopt(void *easy, ccurl_option option, ...) {
            va_list arguments;
            va_start(arguments, option);
            if (option == CCURLOPT_OPENSOCKETFUNCTION) open_socket = va_arg(arguments, int (*)(void *, int, void *));
            va_end(arguments);
            return CCURLE_OK;
        }

        static ccurl_code getinfo(void *easy, ccurl_info info, ...) {
            va_list arguments;
            va_start(arguments, info);
            if (info == CCURLINFO_ACTIVESOCKET) *va_arg(arguments, int *) = opened;
            va_end(arguments);
            return CCURLE_OK;
        }

        int64_t ccurl_now(void) { return 0; }
        bool ccurl_keeps_certificates(void) { return true; }
        void *ccurl_transfer_easy(const ccurl_transfer *transfer) { return NULL; }
        ccurl_loop *ccurl_transfer_loop(const ccurl_transfer *transfer) { return NULL; }
        ccurl_sockets *ccurl_loop_sockets(ccurl_loop *loop) { return &sockets; }
        bool ccurl_loop_is_lent(const ccurl_loop *loop) { return lent; }
        void ccurl_transfer_note_stale(ccurl_transfer *transfer) {}
        const ccurl_head *ccurl_transfer_lines(const ccurl_transfer *transfer) { return NULL; }
        ccurl_connection *ccurl_transfer_connection(ccurl_transfer *transfer) { return &transfer->connection; }
        const char *ccurl_transfer_words(const ccurl_transfer *transfer) { return ""; }
        long ccurl_transfer_get_long(const ccurl_transfer *transfer, ccurl_info info) { return CCURL_HTTP_VERSION_1_1; }
        int64_t ccurl_transfer_started(const ccurl_transfer *transfer) { return 0; }
        bool ccurl_transfer_is_encrypted(const ccurl_transfer *transfer) { return false; }
        ccurl_upload *ccurl_transfer_upload(ccurl_transfer *transfer) { return &upload; }
        bool ccurl_transfer_is_paused(const ccurl_transfer *transfer) { return false; }
        bool ccurl_transfer_was_sent(const ccurl_transfer *transfer) { return false; }
        void ccurl_transfer_refuse_repetition(ccurl_transfer *transfer) {}
        ccurl_request ccurl_transfer_request(const ccurl_transfer *transfer) { return (ccurl_request){0}; }
        ccurl_http3 ccurl_transfer_http3(const ccurl_transfer *transfer) { return CCURL_WITHOUT_HTTP3; }
        bool ccurl_transfer_is_unsent_over_http3(ccurl_transfer *transfer) { return false; }
        void ccurl_transfer_note_lack_of_http3(ccurl_transfer *transfer) {}

        // Opens a connection, and returns its socket.
        static int connection(int *other) {
            struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
            socklen_t length = sizeof here;
            int listener = socket(AF_INET, SOCK_STREAM, 0);
            bind(listener, (struct sockaddr *)&here, length);
            listen(listener, 1);
            getsockname(listener, (struct sockaddr *)&here, &length);
            struct { int family, type, protocol; unsigned length; struct sockaddr_in address; } place = {
                AF_INET, SOCK_STREAM, 0, sizeof here, here};
            int opened = open_socket(&first, 0, &place);
            connect(opened, (struct sockaddr *)&here, length);
            *other = accept(listener, NULL, NULL);
            return opened;
        }

        static void start(void) {
            ccurl_api.easy_setopt = setopt;
            ccurl_api.easy_getinfo = getinfo;
            sockets.epoll = epoll_create1(0);
            sockets.lists = calloc(CCURL_PORTS, sizeof *sockets.lists);
            ccurl_sockets_adopt(&sockets, &first);

            opened = connection(&other);
            struct sockaddr_in here, own;
            socklen_t length = sizeof here;
            getpeername(opened, (struct sockaddr *)&here, &length);
            getsockname(opened, (struct sockaddr *)&own, &length);
            first.connection.from_port = ntohs(own.sin_port);
            first.connection.to_port = ntohs(here.sin_port);
            ccurl_sockets_watch(&sockets, opened, &sockets.watches[opened], EPOLLIN);
        }

        static ccurl_transfer begun(void) { return first; }
        static ccurl_watch *watch(void) { return &sockets.watches[opened]; }

        // Begins a turn, after a wait that has reported all.
        static void turn(void) { sockets.looked = ++sockets.waits; }

        static void end(ccurl_transfer *transfer) {
            ccurl_sockets_keep(&sockets, transfer);
            ccurl_sockets_release(&sockets, transfer);
        }

        // Sends what no request has asked for, and waits until it is there.
        static void arrive(void) {
            char byte;
            if (write(other, "x", 1) != 1 || recv(opened, &byte, 1, MSG_PEEK) != 1) abort();
        }

        // Reads what comes as fast as it comes, for so many milliseconds of processor time.
        static void read_for(long milliseconds, int socket, int peer) {
            static char bytes[60000];
            clock_t end = clock() + milliseconds * CLOCKS_PER_SEC / 1000;
            while (clock() < end)
                if (write(peer, bytes, sizeof bytes) <= 0 || recv(socket, bytes, sizeof bytes, 0) <= 0) abort();
        }

        // Whether nothing can be sent on a connection.
        static bool is_shut(int socket) { return send(socket, "x", 1, MSG_NOSIGNAL) < 0; }

        static const char *notice_surplus(ccurl_transfer *transfer) {
            arrive();
            bool is_noticed = ccurl_sockets_is_stale(&sockets, transfer);
            char byte;
            if (recv(opened, &byte, 1, 0) != 1) abort();
            return is_noticed ? "noticed" : "not asked for";
        }
        """
}
#endif
