#if os(Linux)
import Foundation
import Testing

/// The shim's records of sockets, in a small program of their own.
@Suite("Sockets that libcurl opens", .enabled(if: Program.clang.isInstalled, "clang is not installed"))
struct CurlSocketTests {
    private static let shim = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../../Sources/CCurl").path

    @Test("a flood never ends a socket of the program, under a descriptor that libcurl has closed by itself")
    func programsOwn() async throws {
        let scratch = try Scratch()
        try scratch.write(Self.main, to: "main.c")
        let files = [scratch.path("main.c"), "\(Self.shim)/sockets.c", "\(Self.shim)/ports.c"]
        let options = ["-I\(Self.shim)", "-I\(Self.shim)/include", "-o", scratch.path("main")]
        try await Program.clang.run(files + options)
        let said = String(decoding: try await Program.run(scratch.path("main")), as: UTF8.self)
        #expect(said == "its own: found\nthe program's: not found\n")
    }

    /// Opens a socket as libcurl does, and has another one take its descriptor.
    private static let main = """
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

        struct ccurl_api ccurl_api;
        static ccurl_sockets sockets = {.guard = PTHREAD_MUTEX_INITIALIZER};
        static ccurl_connection connection;
        static int (*open_socket)(void *, int, void *);

        static ccurl_code setopt(void *easy, ccurl_option option, ...) {
            va_list arguments;
            va_start(arguments, option);
            if (option == CCURLOPT_OPENSOCKETFUNCTION) open_socket = va_arg(arguments, int (*)(void *, int, void *));
            va_end(arguments);
            return CCURLE_OK;
        }

        int64_t ccurl_now(void) { return 0; }
        void *ccurl_transfer_easy(const ccurl_transfer *transfer) { return NULL; }
        ccurl_loop *ccurl_transfer_loop(const ccurl_transfer *transfer) { return NULL; }
        ccurl_sockets *ccurl_loop_sockets(ccurl_loop *loop) { return &sockets; }
        bool ccurl_loop_is_lent(const ccurl_loop *loop) { return false; }
        void ccurl_transfer_note_stale(ccurl_transfer *transfer) {}
        const ccurl_head *ccurl_transfer_lines(const ccurl_transfer *transfer) { return NULL; }
        ccurl_connection *ccurl_transfer_connection(ccurl_transfer *transfer) { return &connection; }
        const char *ccurl_transfer_words(const ccurl_transfer *transfer) { return ""; }
        long ccurl_transfer_get_long(const ccurl_transfer *transfer, ccurl_info info) { return 0; }
        int64_t ccurl_transfer_started(const ccurl_transfer *transfer) { return 0; }
        bool ccurl_transfer_is_encrypted(const ccurl_transfer *transfer) { return false; }
        ccurl_upload *ccurl_transfer_upload(ccurl_transfer *transfer) { return NULL; }
        bool ccurl_transfer_is_paused(const ccurl_transfer *transfer) { return false; }
        bool ccurl_transfer_was_sent(const ccurl_transfer *transfer) { return false; }
        void ccurl_transfer_refuse_repetition(ccurl_transfer *transfer) {}
        ccurl_request ccurl_transfer_request(const ccurl_transfer *transfer) { return (ccurl_request){0}; }
        ccurl_http3 ccurl_transfer_http3(const ccurl_transfer *transfer) { return CCURL_WITHOUT_HTTP3; }
        bool ccurl_transfer_is_unsent_over_http3(ccurl_transfer *transfer) { return false; }
        void ccurl_transfer_note_lack_of_http3(ccurl_transfer *transfer) {}

        int main(void) {
            ccurl_api.easy_setopt = setopt;
            sockets.epoll = epoll_create1(0);
            sockets.lists = calloc(CCURL_PORTS, sizeof *sockets.lists);
            ccurl_sockets_adopt(&sockets, NULL);

            struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
            socklen_t length = sizeof here;
            int listener = socket(AF_INET, SOCK_STREAM, 0);
            bind(listener, (struct sockaddr *)&here, length);
            listen(listener, 1);
            getsockname(listener, (struct sockaddr *)&here, &length);
            struct { int family, type, protocol; unsigned length; struct sockaddr_in address; } place = {
                AF_INET, SOCK_STREAM, 0, sizeof here, here};
            int opened = open_socket(NULL, 0, &place);
            connect(opened, (struct sockaddr *)&here, length);
            int other = accept(listener, NULL, NULL);
            if (write(other, "flood", 5) != 5) return 1;
            char byte;
            recv(opened, &byte, 1, MSG_PEEK);
            printf("its own: %s\\n", ccurl_sockets_fullest(&sockets) == opened ? "found" : "not found");

            close(opened);
            int pair[2];
            socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
            dup2(pair[0], opened);
            if (write(pair[1], "private", 7) != 7) return 1;
            printf("the program's: %s\\n", ccurl_sockets_fullest(&sockets) < 0 ? "not found" : "found");
        }
        """
}
#endif
