#if os(Linux)
import ErrandTestSupport
import Testing

/// The shim's stock of handles, in a small program of its own.
@Suite(
    "Handles that are used once", .timeLimit(.minutes(10)),
    .enabled(if: Program.clang.isInstalled, "clang is not installed"))
struct CurlSpentHandleTests {
    @Test("they are freed and created at once or together, and no more than 64 of each kind are kept")
    func stock() async throws {
        let said = try await ShimProgram.run(
            Self.beginning + """

                int main(void) {
                    ccurl_handles *handles = ccurl_handles_new();
                    void *easy = ccurl_handles_create(handles);
                    say("the first");
                    easy = ccurl_handles_exchange(handles, easy, 0);
                    say("exchanged, with nothing in stock");
                    ccurl_handles_renew(handles, 0);
                    say("renewed");
                    easy = ccurl_handles_exchange(handles, easy, 0);
                    say("exchanged, with one in stock");
                    ccurl_handles_renew(handles, 0);
                    say("renewed");
                    ccurl_handles_renew(handles, 0);
                    say("with nothing to renew");
                    for (int i = 0; i < 100; i++) easy = ccurl_handles_exchange(handles, easy, 0);
                    say("a hundred exchanged");
                    ccurl_handles_renew(handles, 0);
                    say("renewed");
                    has_memory = false;
                    for (int i = 0; i < 64; i++) easy = ccurl_handles_exchange(handles, easy, 0);
                    say("the stock exchanged, without memory");
                    if (ccurl_handles_exchange(handles, easy, 0)) return 1;
                    say("refused another");
                    ccurl_handles_renew(handles, 0);
                    say("renewed");
                    has_memory = true;
                    easy = ccurl_handles_create(handles);
                    for (int i = 0; i < 3; i++) easy = ccurl_handles_exchange(handles, easy, 0);
                    ccurl_handles_renew(handles, 0);
                    say("with memory again");
                    easy = ccurl_handles_exchange(handles, easy, 0);
                    ccurl_handles_hold(handles);
                    ccurl_handles_release(handles);
                    say("let go of once");
                    ccurl_api.easy_cleanup(easy);
                    ccurl_handles_release(handles);
                    say("let go of twice");
                }
                """, with: ["handles.c", "origins.c"])
        #expect(
            said == """
                the first: 1 created, 0 freed
                exchanged, with nothing in stock: 1 created, 0 freed
                renewed: 1 created, 1 freed
                exchanged, with one in stock: 0 created, 0 freed
                renewed: 1 created, 1 freed
                with nothing to renew: 0 created, 0 freed
                a hundred exchanged: 99 created, 36 freed
                renewed: 64 created, 64 freed
                the stock exchanged, without memory: 0 created, 0 freed
                refused another: 0 created, 2 freed
                renewed: 0 created, 63 freed
                with memory again: 7 created, 3 freed
                let go of once: 0 created, 0 freed
                sessions freed, with 0 handles
                let go of twice: 0 created, 4 freed

                """)
    }

    @Test("each loop has a stock of its own; what asks for HTTP/1.1 is known to all")
    func loops() async throws {
        let said = try await ShimProgram.run(
            Self.beginning + """

                int main(void) {
                    ccurl_handles *handles = ccurl_handles_new();
                    void *easy = ccurl_handles_create(handles);
                    easy = ccurl_handles_exchange(handles, easy, 1);
                    ccurl_handles_renew(handles, 0);
                    say("nothing for the first loop");
                    ccurl_handles_renew(handles, 1);
                    say("renewed");
                    easy = ccurl_handles_exchange(handles, easy, 0);
                    say("exchanged, with none for the first loop");
                    easy = ccurl_handles_exchange(handles, easy, 1);
                    say("exchanged, with one for the other");
                    ccurl_handles_clean_up(handles, 1);
                    say("cleaned up");
                    if (ccurl_handles_have_http1(handles, 7)) return 1;
                    ccurl_handles_note_http1(handles, 7);
                    if (!ccurl_handles_have_http1(handles, 7) || ccurl_handles_have_http1(handles, 8)) return 2;
                    ccurl_api.easy_cleanup(easy);
                    ccurl_handles_release(handles);
                    say("let go of");
                }
                """, with: ["handles.c", "origins.c"])
        #expect(
            said == """
                nothing for the first loop: 2 created, 0 freed
                renewed: 1 created, 1 freed
                exchanged, with none for the first loop: 1 created, 0 freed
                exchanged, with one for the other: 0 created, 0 freed
                cleaned up: 0 created, 1 freed
                sessions freed, with 0 handles
                let go of: 0 created, 2 freed

                """)
    }

    @Test("any thread exchanges them, while another frees and creates them")
    func threads() async throws {
        let said = try await ShimProgram.run(
            Self.beginning + """

                #include <pthread.h>

                static atomic_int working = 3;

                static void *work(void *context) {
                    ccurl_handles *handles = ccurl_handles_hold(context);
                    void *easy = ccurl_handles_create(handles);
                    for (int i = 0; i < 20000; i++) easy = ccurl_handles_exchange(handles, easy, 0);
                    ccurl_api.easy_cleanup(easy);
                    ccurl_handles_release(handles);
                    working--;
                    return NULL;
                }

                int main(void) {
                    ccurl_handles *handles = ccurl_handles_new();
                    pthread_t threads[3];
                    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, work, handles);
                    while (working > 0) ccurl_handles_renew(handles, 0);
                    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
                    ccurl_handles_release(handles);
                }
                """, with: ["handles.c", "origins.c"])
        #expect(said == "sessions freed, with 0 handles\n")
    }

    /// What stands for libcurl and for what handles share: functions that count.
    private static let beginning = """
        #include "handles.h"
        #include "library.h"
        #include "share.h"
        #include <stdatomic.h>
        #include <stdio.h>
        #include <stdlib.h>

        struct ccurl_api ccurl_api;
        static bool has_memory = true;
        static atomic_int created, freed, alive;

        static void *init(void) {
            if (!has_memory) return NULL;
            created++, alive++;
            return calloc(1, 1);
        }

        static void cleanup(void *easy) {
            char *mark = easy;
            // Its memory stays, so that a second time is noticed.
            if ((*mark)++) abort();
            freed++, alive--;
        }

        ccurl_share *ccurl_share_new(void) {
            ccurl_api.easy_init = init;
            ccurl_api.easy_cleanup = cleanup;
            return malloc(1);
        }

        void ccurl_share_use(ccurl_share *share, void *easy) {
            if (!share || !easy) abort();
        }

        void ccurl_share_free(ccurl_share *share) {
            printf("sessions freed, with %d handles\\n", alive);
            free(share);
        }

        static void say(const char *when) {
            printf("%s: %d created, %d freed\\n", when, created, freed);
            created = freed = 0;
        }
        """
}
#endif
