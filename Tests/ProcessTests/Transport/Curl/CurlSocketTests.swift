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
        let files = ["sockets.c", "origins.c", "watches.c", "ports.c", "flood.c", "system.c", "decisions.c"]
        return try await ShimProgram.run(main, with: files)
    }

    @Test("a flood never ends a socket of the program, under a descriptor that libcurl has closed by itself")
    func programsOwn() async throws {
        let said = try await run(
            """
            static ccurl_flood flood;
            ccurl_flood_init(&flood);
            watch()->is_encrypted = true;
            arrive();
            spend_turn(&flood);
            printf("its own: %s\\n", is_shut(opened) ? "ended" : "open");
            close(opened);
            int pair[2];
            socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
            dup2(pair[0], opened);
            if (write(pair[1], "private", 7) != 7) return 1;
            spend_turn(&flood);
            printf("the program's: %s\\n", is_shut(opened) ? "ended" : "open");
            """)
        #expect(said == "its own: ended\nthe program's: open\n")
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
            ccurl_connection a = begun(), b = begun(), c = begun(), d = begun();
            turn();
            ccurl_sockets_note_made(&sockets, &a, 1, true);
            printf("before the end of the first request is noted: %s\\n", notice_surplus(&b));
            end(&a);
            printf("in the turn of that: %s\\n", notice_surplus(&b));
            turn();
            is_on_callers_thread = true;
            printf("on another thread: %s\\n", notice_surplus(&b));
            is_on_callers_thread = false;
            sockets.waits++;
            printf("after a wait that may not have reported all: %s\\n", notice_surplus(&b));
            turn();
            watch()->watched = 0;
            printf("where nothing is reported: %s\\n", notice_surplus(&b));
            watch()->watched = EPOLLIN;
            printf("after a wait: %s\\n", notice_surplus(&b));
            turn();
            if (ccurl_sockets_is_stale(&sockets, &c, (ccurl_use){.can_ask_later = true})) return 1;
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
            ccurl_connection a = begun(), b = begun();
            turn();
            ccurl_sockets_note_made(&sockets, &a, 1, false);
            printf("alone: %d\\n", a.is_joined);
            ccurl_sockets_note_joined(&sockets, a.to_port, a.from_port);
            printf("with another: %d\\n", a.is_joined);
            ccurl_sockets_release(&sockets, &a);
            printf("after its end: %s\\n", watch()->maker ? "known" : "forgotten");
            a.is_joined = false;
            ccurl_sockets_note_joined(&sockets, a.to_port, a.from_port);
            printf("with one that comes later: %d\\n", a.is_joined);
            b.from_port = 1;
            ccurl_sockets_note_made(&sockets, &b, 1, false);
            printf("on a connection that is not known: %d\\n", b.is_joined);
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

    /// What the records need, and one connection that was opened as libcurl does it.
    private static let beginning = """
        #include "flood.h"
        #include "library.h"
        #include "sockets.h"
        #include <netinet/in.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/epoll.h>
        #include <sys/socket.h>
        #include <time.h>
        #include <unistd.h>

        static ccurl_sockets sockets = {.guard = PTHREAD_MUTEX_INITIALIZER};
        static int opened, other;
        static bool is_on_callers_thread;

        int64_t ccurl_now(void) { return 0; }
        bool ccurl_keeps_certificates(void) { return true; }

        // Opens a connection to the origin 1, and returns its socket.
        static int connection(int *other) {
            struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
            socklen_t length = sizeof here;
            int listener = socket(AF_INET, SOCK_STREAM, 0);
            bind(listener, (struct sockaddr *)&here, length);
            listen(listener, 1);
            getsockname(listener, (struct sockaddr *)&here, &length);
            int opened = socket(AF_INET, SOCK_STREAM, 0);
            const ccurl_purpose purpose = {.origin = 1, .address = &here, .length = sizeof here};
            if (!ccurl_sockets_add(&sockets, opened, &purpose)) abort();
            connect(opened, (struct sockaddr *)&here, length);
            *other = accept(listener, NULL, NULL);
            return opened;
        }

        static ccurl_watch *watch(void) { return &sockets.watches[opened]; }

        static void start(void) {
            sockets.epoll = epoll_create1(0);
            sockets.lists = calloc(CCURL_PORTS, sizeof *sockets.lists);
            opened = connection(&other);
            ccurl_sockets_watch(&sockets, opened, watch(), EPOLLIN);
        }

        // Returns what belongs to a request that is about to be sent on the connection.
        static ccurl_connection begun(void) {
            struct sockaddr_in here, own;
            socklen_t length = sizeof here;
            getpeername(opened, (struct sockaddr *)&here, &length);
            getsockname(opened, (struct sockaddr *)&own, &length);
            return (ccurl_connection){.from_port = ntohs(own.sin_port), .to_port = ntohs(here.sin_port)};
        }

        // Begins a turn, after a wait that has reported all.
        static void turn(void) { sockets.looked = ++sockets.waits; }

        static void end(ccurl_connection *connection) {
            ccurl_sockets_keep(&sockets, connection, opened);
            ccurl_sockets_release(&sockets, connection);
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

        // Spends a turn with timers that is too long, and in which nothing is read.
        static void spend_turn(ccurl_flood *flood) {
            ccurl_flood_begin(flood, &sockets, CCURL_SOCKET_TIMEOUT);
            for (int i = 0; i < 3; i++) {
                ccurl_flood_watch(flood, &sockets);
                clock_t end = clock() + 60 * CLOCKS_PER_SEC / 1000;
                while (clock() < end) {}
            }
        }

        // Whether nothing can be sent on a connection.
        static bool is_shut(int socket) { return send(socket, "x", 1, MSG_NOSIGNAL) < 0; }

        static const char *notice_surplus(ccurl_connection *connection) {
            arrive();
            const ccurl_use use = {.can_ask_later = true, .is_on_callers_thread = is_on_callers_thread};
            bool is_noticed = ccurl_sockets_is_stale(&sockets, connection, use);
            char byte;
            if (recv(opened, &byte, 1, 0) != 1) abort();
            return is_noticed ? "noticed" : "not asked for";
        }
        """
}
#endif
