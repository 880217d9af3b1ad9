#if os(Linux)
import ErrandTestSupport
import Foundation
import Testing

/// The file of the package that opens libcurl, in small programs of their own.
@Suite("A static program") struct StaticProgramTests {
    private static let main = """
        #include "ccurl.h"
        #include <stdio.h>
        int main(void) { printf("%s", ccurl_open() ? "opened" : ccurl_problem()); }

        """
    /// What the C library does then.
    private static let withoutLibraries = """
        void *dlopen(const char *name, int flags) { return NULL; }
        char *dlerror(void) { return "Dynamic loading not supported"; }

        """

    private static let shim = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../../Sources/CCurl").path

    private func said(_ compiler: Program, _ options: [String] = [], and more: String = "") async throws -> String {
        let scratch = try Scratch()
        try scratch.write(Self.main + more, to: "main.c")
        let files = [scratch.path("main.c"), "\(Self.shim)/library.c", "\(Self.shim)/functions.c"]
        try await compiler.run(options + files + ["-I\(Self.shim)/include", "-o", scratch.path("main")])
        return String(decoding: try await Program.run(scratch.path("main")), as: UTF8.self)
    }

    private func expectAdvice(_ said: String) {
        #expect(said.contains("(Dynamic loading not supported): this program is linked statically"), "\(said)")
        #expect(said.contains("enable Errand's package trait LinkedCurl"), "\(said)")
        #expect(!said.contains("install"), "\(said)")
    }

    @Test("it is not told to install libcurl", .enabled(if: Program.clang.isInstalled, "clang is not installed"))
    func advice() async throws {
        expectAdvice(try await said(.clang, and: Self.withoutLibraries))
    }

    @Test(
        "that is what a static program with musl says",
        .enabled(if: Program.muslCompiler.isInstalled, "musl-gcc is not installed"))
    func musl() async throws {
        expectAdvice(try await said(.muslCompiler, ["-static"]))
    }
}
#endif
