#if os(Linux)
import ErrandTestSupport
import Foundation

/// A fake `libcurl.so.4`, in a folder where a child process finds it first.
final class StubLibrary: Sendable {
    private let scratch: Scratch

    /// Creates a library with every function that reports version `version`, does not know the options `lacking`, and
    /// ends each transfer with `result`, after these header lines.
    convenience init(version: Int = 0x075801, lacking: [Int] = [], lines: [String] = [], result: Int = 0) async throws {
        try await self.init(
            source: """
                \(Self.beginning(version, lacking))
                static const char *const lines[] = {\(lines.map { "\"\($0)\\r\\n\"," }.joined())NULL};
                #define RESULT \(result)
                \(Self.source)
                """)
    }

    /// Creates a library that works like the one at `path`, but reports version `version` and does not know the options
    /// in `lacking`, nor what of it can be asked of a handle.
    convenience init(version: Int, lacking: [Int], before path: String) async throws {
        try await self.init(
            source: """
                \(Self.beginning(version, lacking))
                #define PATH "\(path)"
                \(Self.forwarding)
                """)
    }

    /// Creates a library that works like the one at `path`, but was built for a system that trusts the authorities in
    /// that file, and in that folder. It prints which file it is told to trust.
    convenience init(trusting file: String, _ folder: String, before path: String) async throws {
        try await self.init(
            source: """
                \(Self.beginning(InstalledLibrary.version, []))
                #define PATH "\(path)"
                #define TRUSTED_FILE "\(file)"
                #define TRUSTED_FOLDER "\(folder)"
                \(Self.forwarding)
                """)
    }

    /// Creates a library from C code.
    init(source: String) async throws {
        scratch = try Scratch()
        try scratch.write(source, to: "stub.c")
        // The name that Debian gives the functions: a program that libcurl is linked with asks for it.
        try scratch.write("CURL_OPENSSL_4 { global: curl_*; local: *; };", to: "versions")
        try await Program.clang.run([
            "-shared", "-fPIC", "-Wl,--version-script=\(scratch.path("versions"))", "-o", scratch.path("libcurl.so.4"),
            scratch.path("stub.c"),
        ])
    }

    /// Creates a file that is no library.
    init(text: String) async throws {
        scratch = try Scratch()
        try scratch.write(text, to: "libcurl.so.4")
    }

    /// The environment with which a process finds the library.
    var environment: [String: String] {
        let others = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"].map { ":\($0)" } ?? ""
        // The variable would name another library before this one.
        return ["LD_LIBRARY_PATH": scratch.folder + others, "ERRAND_LIBCURL": ""]
    }

    /// Returns what a process with that library prints about a GET.
    func probe(_ arguments: String...) async throws -> String {
        let probe = try Child(
            "TransportProbe", ["get", "https://service.test/"] + arguments, environment: environment)
        return try await probe.end().lines.joined(separator: "\n")
    }

    /// The common part of both: the version, and the unknown options.
    private static func beginning(_ version: Int, _ lacking: [Int]) -> String {
        """
        #include <stdarg.h>
        #include <stddef.h>
        #define VERSION_NUMBER \(version)
        typedef struct {
            int age; const char *version; unsigned number; const char *host; int features; const char *ssl;
            long ssl_number; const char *libz; const void *protocols; const char *ares; int ares_number;
            const char *idn; int iconv; const char *ssh; unsigned brotli_number; const char *brotli;
            unsigned nghttp2_number; const char *nghttp2, *quic, *trusted_file, *trusted_folder;
        } version_info;
        static int is_lacking(int option) {
            static const int lacking[] = {\((lacking + [0]).map(String.init).joined(separator: ", "))};
            for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++)
                if (lacking[i] == option) return 1;
            return 0;
        }
        """
    }

    private static let forwarding = """
        #include <dlfcn.h>
        #include <stdio.h>
        #include <string.h>
        #include <sys/prctl.h>
        static void *library;
        static _Atomic int handles, transfers;
        // Whether libcurl creates a handle of its own. Where it is linked, it calls the function here for that.
        static _Thread_local int is_own;
        // How many handles the thread of the transport has freed before the last transfer began.
        static _Atomic int freed, freed_before;
        // How much is read at once for each transfer.
        #define MOST_SIZES 16
        static long size, sizes[MOST_SIZES];
        __attribute__((constructor)) static void open_library(void) { library = dlopen(PATH, RTLD_NOW | RTLD_LOCAL); }
        __attribute__((destructor)) static void report(void) {
            printf("transfers: %d\\nread sizes:", transfers);
            for (int i = 0; i < transfers && i < MOST_SIZES; i++) printf(" %ld", sizes[i]);
            printf("\\nhandles freed before: %d\\nhandles left: %d\\n", freed_before, handles);
        }
        #define REAL(name, result, ...) ((result (*)(__VA_ARGS__))dlsym(library, name))
        version_info *curl_version_info(int now) {
            static version_info info;
            info = *REAL("curl_version_info", version_info *, int)(now);
            info.number = VERSION_NUMBER;
        #ifdef TRUSTED_FILE
            info.trusted_file = TRUSTED_FILE;
            info.trusted_folder = TRUSTED_FOLDER;
        #endif
            return &info;
        }
        int curl_global_init(long flags) { return REAL("curl_global_init", int, long)(flags); }
        // What a new handle trusts is built into the library.
        static void *trust(void *easy) {
        #ifdef TRUSTED_FILE
            REAL("curl_easy_setopt", int, void *, int, ...)(easy, 10065, TRUSTED_FILE);
            REAL("curl_easy_setopt", int, void *, int, ...)(easy, 10097, TRUSTED_FOLDER);
            // That of a proxy.
            REAL("curl_easy_setopt", int, void *, int, ...)(easy, 10246, TRUSTED_FILE);
        #endif
            return easy;
        }
        void *curl_easy_init(void) {
            handles += !is_own;
            return trust(REAL("curl_easy_init", void *, void)());
        }
        void curl_easy_reset(void *easy) {
            REAL("curl_easy_reset", void, void *)(easy);
            trust(easy);
        }
        void curl_easy_cleanup(void *easy) {
            char thread[16] = "";
            prctl(PR_GET_NAME, thread);
            handles--;
            freed += strcmp(thread, "errand.curl") == 0;
            REAL("curl_easy_cleanup", void, void *)(easy);
        }
        int curl_easy_setopt(void *easy, int option, ...) {
            if (is_lacking(option)) return 48;
            va_list arguments;
            va_start(arguments, option);
            void *value = va_arg(arguments, void *);
            va_end(arguments);
        #ifdef TRUSTED_FILE
            if (option == 10065) printf("trusts %s\\n", (const char *)value);
        #endif
            if (option == 98) size = (long)value;
            return REAL("curl_easy_setopt", int, void *, int, ...)(easy, option, value);
        }
        int curl_easy_getinfo(void *easy, int asked, ...) {
            if (is_lacking(asked)) return 48;
            va_list arguments;
            va_start(arguments, asked);
            void *place = va_arg(arguments, void *);
            va_end(arguments);
            return REAL("curl_easy_getinfo", int, void *, int, ...)(easy, asked, place);
        }
        int curl_easy_pause(void *easy, int what) { return REAL("curl_easy_pause", int, void *, int)(easy, what); }
        const char *curl_easy_strerror(int code) { return REAL("curl_easy_strerror", const char *, int)(code); }
        void *curl_multi_init(void) {
            is_own = 1;
            void *multi = REAL("curl_multi_init", void *, void)();
            is_own = 0;
            return multi;
        }
        int curl_multi_wakeup(void *multi) { return REAL("curl_multi_wakeup", int, void *)(multi); }
        int curl_multi_cleanup(void *multi) { return REAL("curl_multi_cleanup", int, void *)(multi); }
        int curl_multi_setopt(void *multi, int option, ...) {
            va_list arguments;
            va_start(arguments, option);
            void *value = va_arg(arguments, void *);
            va_end(arguments);
            return REAL("curl_multi_setopt", int, void *, int, ...)(multi, option, value);
        }
        int curl_multi_add_handle(void *multi, void *easy) {
            if (transfers < MOST_SIZES) sizes[transfers] = size;
            transfers++;
            freed_before = freed;
            return REAL("curl_multi_add_handle", int, void *, void *)(multi, easy);
        }
        int curl_multi_remove_handle(void *multi, void *easy) {
            return REAL("curl_multi_remove_handle", int, void *, void *)(multi, easy);
        }
        int curl_multi_socket_action(void *multi, int socket, int ready, int *running) {
            return REAL("curl_multi_socket_action", int, void *, int, int, int *)(multi, socket, ready, running);
        }
        void *curl_multi_info_read(void *multi, int *left) {
            return REAL("curl_multi_info_read", void *, void *, int *)(multi, left);
        }
        void *curl_share_init(void) { return REAL("curl_share_init", void *, void)(); }
        int curl_share_cleanup(void *share) { return REAL("curl_share_cleanup", int, void *)(share); }
        int curl_share_setopt(void *share, int option, ...) {
            va_list arguments;
            va_start(arguments, option);
            void *value = va_arg(arguments, void *);
            va_end(arguments);
            return REAL("curl_share_setopt", int, void *, int, ...)(share, option, value);
        }
        """

    private static let source = """
        #include <stdlib.h>
        #include <string.h>
        typedef struct { int message; void *easy; union { void *other; int result; } data; } message;
        static version_info info = {0, "stub", VERSION_NUMBER};
        static void *added, *reader;
        static size_t (*read_line)(char *, size_t, size_t, void *);
        version_info *curl_version_info(int now) { return &info; }
        int curl_global_init(long flags) { return 0; }
        void *curl_easy_init(void) { return calloc(1, sizeof(void *)); }
        void curl_easy_reset(void *easy) {}
        void curl_easy_cleanup(void *easy) { free(easy); }
        int curl_easy_setopt(void *easy, int option, ...) {
            if (is_lacking(option)) return 48;
            va_list arguments;
            va_start(arguments, option);
            if (option == 10103) *(void **)easy = va_arg(arguments, void *);
            if (option == 10029) reader = va_arg(arguments, void *);
            if (option == 20079) read_line = va_arg(arguments, size_t (*)(char *, size_t, size_t, void *));
            va_end(arguments);
            return 0;
        }
        int curl_easy_getinfo(void *easy, int asked, ...) {
            va_list arguments;
            va_start(arguments, asked);
            if (asked == 0x100015) *va_arg(arguments, void **) = *(void **)easy;
            va_end(arguments);
            return 0;
        }
        int curl_easy_pause(void *easy, int what) { return 0; }
        const char *curl_easy_strerror(int code) { return "as the stub says"; }
        void *curl_multi_init(void) { return &added; }
        int curl_multi_wakeup(void *multi) { return 0; }
        int curl_multi_cleanup(void *multi) { return 0; }
        int curl_multi_setopt(void *multi, int option, ...) { return 0; }
        int curl_multi_add_handle(void *multi, void *easy) { added = easy; return 0; }
        int curl_multi_remove_handle(void *multi, void *easy) { return 0; }
        int curl_multi_socket_action(void *multi, int socket, int ready, int *running) { return 0; }
        void *curl_share_init(void) { return &added; }
        int curl_share_cleanup(void *share) { return 0; }
        int curl_share_setopt(void *share, int option, ...) { return 0; }
        message *curl_multi_info_read(void *multi, int *left) {
            static message done;
            if (!added) return NULL;
            for (int i = 0; lines[i]; i++) {
                char line[256];
                strcpy(line, lines[i]);
                read_line(line, 1, strlen(line), reader);
            }
            done = (message){.message = 1, .easy = added, .data = {.result = RESULT}};
            added = NULL;
            return &done;
        }
        """
}
#endif
