#if os(Linux)
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// What the system does not give to a process.
@Suite("A process that lacks what a transport needs", .timeLimit(.minutes(10))) struct CurlResourceTests {
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
        server.onAny { _ in .json("1") }
    }

    @Test("C95: a transport that is created without free descriptors works when there are some")
    func latecomer() async throws {
        let (lines, status) = try await Child("TransportProbe", ["latecomer", server.baseURL]).end()
        #expect(status == 0)
        #expect(lines.first?.hasPrefix("outOfResources ") == true, "\(lines)")
        #expect(lines.dropFirst() == ["200 ", "200 "], "\(lines)")
    }

    @Test(
        "a process that may start no thread gets an error that says so, and continues when it may",
        .enabled(if: Program.clang.isInstalled, "clang is not installed"))
    func noThread() async throws {
        let scratch = try Scratch()
        let environment = try await scratch.preloading(
            """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <errno.h>
            #include <pthread.h>
            // Refuses the first thread that can be waited for, which is that of a transport. The thread sanitizer gives
            // it attributes, and has a thread of its own, without any.
            typedef void *work(void *);
            int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, work *body, void *context) {
                static int refused;
                int state = PTHREAD_CREATE_JOINABLE;
                if (attributes) pthread_attr_getdetachstate(attributes, &state);
                int isSanitized = dlsym(RTLD_DEFAULT, "__tsan_init") != NULL;
                if (state == PTHREAD_CREATE_JOINABLE && (attributes != NULL) == isSanitized && !refused++)
                    return EAGAIN;
                int (*system)(pthread_t *, const pthread_attr_t *, work *, void *);
                system = dlsym(RTLD_NEXT, "pthread_create");
                return system(thread, attributes, body, context);
            }
            """)
        let probe = try Child(
            "TransportProbe", ["get", server.baseURL, "proxy=none"], environment: environment)
        let (lines, status) = try await probe.end()
        #expect(status == 0)
        let words = "the system allows the process no further thread (see `ulimit -u`)"
        #expect(lines == ["outOfResources false \(words)"], "\(lines)")
    }

    @Test("a program that is started inherits no descriptor of a transport")
    func inherited() async throws {
        let (lines, status) = try await Child("TransportProbe", ["inherited", server.baseURL]).end()
        #expect(status == 0 && lines == ["200"], "\(lines)")
    }
}
#endif
