#if os(Linux)
import ErrandTestSupport
import Foundation

/// The toolchain's compiler, which checks the reader's code against the modules that these tests were built with.
struct Compiler {
    private let program: URL
    private let built: URL
    /// The folder for the reader's files, and for the module that they are compiled into.
    private let folder: URL

    /// The path of the compiler, if it is installed.
    static var program: URL? {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
            .map { URL(filePath: String($0)).appending(path: "swiftc") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }

    /// The folder of the test executable, which also contains the modules.
    static var built: URL {
        get throws {
            URL(filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
                .deletingLastPathComponent()
        }
    }

    /// Creates a compiler that works in that folder.
    init(_ program: URL, in folder: URL) throws {
        (self.program, self.folder) = (program, folder)
        built = try Self.built
    }

    /// Returns the compiler's errors for one state of the reader's package; empty if it builds.
    func problems(of state: Walkthrough.State) async throws -> String {
        for (name, text) in state {
            try Data(text.utf8).write(to: folder.appending(path: name))
        }
        // Compiled as a whole module, because otherwise the compiler skips function bodies.
        let library = [
            "-emit-module", "-wmo", "-enable-testing", "-module-name", "Friends", "-o", "Friends.swiftmodule",
        ]
        let tests = ["-typecheck", "-module-name", "FriendsTests", "-I", folder.path]
        let manifest = ["-typecheck", "-package-description-version", "6.2", "-I", try await manifestModules]
        return try await compile(state.manifest, manifest)
            + compile(state.library, library + modules)
            + compile(state.tests, tests + modules)
    }

    /// Returns the compiler's errors for a program that imports the library; empty if it compiles. It may be isolated
    /// to the main actor by default.
    func problems(of program: String, isolatedByDefault isIsolated: Bool = false) async throws -> String {
        try Data(program.utf8).write(to: folder.appending(path: "Program.swift"))
        let isolation = isIsolated ? ["-default-isolation", "MainActor"] : []
        return try await compile(["Program.swift"], ["-typecheck"] + isolation + modules)
    }

    /// Returns the compiler's errors for the samples of a page; empty if they compile. Warnings do not count, because a
    /// sample need not use all that it declares.
    func errors(ofPage program: String) async throws -> String {
        try Data(program.utf8).write(to: folder.appending(path: "Page.swift"))
        let arguments = ["-swift-version", "6", "-typecheck", "-suppress-warnings"] + modules + ["Page.swift"]
        let (status, said) = try await run(arguments)
        guard status != 0 else { return "" }
        return said.isEmpty ? "swiftc ended with \(status)" : String(decoding: said, as: UTF8.self)
    }

    /// Returns the compiler's errors for a program that imports the library and modules, each a single file
    /// that may import those before it; empty if all of them compile.
    func problems(of program: URL, importing imports: [URL]) async throws -> String {
        for file in imports {
            let name = file.deletingPathExtension().lastPathComponent
            let module = [
                "-emit-module", "-parse-as-library", "-module-name", name, "-o", "\(name).swiftmodule",
                "-I", folder.path,
            ]
            let found = try await compile([file.path], module)
            guard found.isEmpty else { return found }
        }
        return try await compile([program.path], ["-typecheck", "-I", folder.path] + modules)
    }

    /// The arguments with which the library is imported.
    private var modules: [String] {
        [
            "-parse-as-library", "-I", built.appending(path: "Modules").path, "-Xcc",
            "-fmodule-map-file=\(built.appending(path: "CCurl.build/module.modulemap").path)",
        ]
    }

    /// The folder of the modules that a manifest imports. The compiler in the PATH may be a link to a program that
    /// chooses between toolchains.
    private var manifestModules: String {
        get async throws {
            struct Target: Decodable {
                struct Paths: Decodable { var runtimeResourcePath: String }
                var paths: Paths
            }
            let said = try await run(["-print-target-info"]).said
            return try JSONDecoder().decode(Target.self, from: said).paths.runtimeResourcePath + "/pm/ManifestAPI"
        }
    }

    private func compile(_ files: [String], _ arguments: [String]) async throws -> String {
        guard !files.isEmpty else { return "" }
        let (status, said) = try await run(["-swift-version", "6", "-warnings-as-errors"] + arguments + files)
        guard status != 0 else { return "" }
        return said.isEmpty ? "swiftc ended with \(status)" : String(decoding: said, as: UTF8.self)
    }

    private func run(_ arguments: [String]) async throws -> (status: Int32, said: Data) {
        // The compiler writes into its working directory.
        let there = ["-c", "cd \"$0\" && exec \"$@\"", folder.path, program.path]
        var environment = ProcessInfo.processInfo.environment
        // The driver of Swift 6.3.1 crashes if the path of its folder for temporary files is not ASCII.
        if let place = environment["TMPDIR"], !place.utf8.allSatisfy({ $0 < 0x80 }) { environment["TMPDIR"] = "/tmp" }
        let (said, status) = try await Subprocess(
            "/bin/sh", there + arguments, environment: environment, errors: .withOutput
        ).outcome()
        return (status, said)
    }
}
#endif
