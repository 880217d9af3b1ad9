#if os(Linux)
import Errand
import ErrandTesting
import Foundation
import Testing

/// An authorization server that is a Python program of Tests/AuthorizationServer.
final class AuthorizationProgram: Sendable {
    /// Its address.
    let origin: String
    /// Its issuer.
    let issuer: String
    /// The ports after the first one.
    let otherPorts: [Int]
    private let process: ServerProcess
    /// A client that does what a browser does, and calls the server's API.
    let visitor: APIClient

    private static let package = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        .standardized
    /// Lets Python find what `.ci/run` and `.ci/full` have installed for the tests.
    private static let path = ["python", "other-python"]
        .map { "import sys; sys.path.append(\"\(package.appending(path: ".build/\($0)").path)\"); " }.joined()

    /// Returns the Python that has those modules: the one in the environment, or the system's; `nil` if it has not.
    static func python(with modules: String) -> String? {
        let chosen = ProcessInfo.processInfo.environment["ERRAND_TEST_PYTHON"] ?? ""
        guard let path = chosen.isEmpty ? Program.python3.path : chosen else { return nil }
        return (try? Program.runAtOnce(path, ["-c", Self.path + "import \(modules)"])).map { _ in path }
    }

    /// Starts a program, whose issuer has that path.
    init(_ name: String, with python: String?, _ arguments: [String] = [], issuerPath: String = "") async throws {
        let script = Self.package.appending(path: "Tests/AuthorizationServer/\(name)").path
        let run = Self.path + "import runpy; sys.argv.pop(0); runpy.run_path(sys.argv[0], run_name=\"__main__\")"
        process = try await ServerProcess(
            at: #require(python), ["-c", run, script] + arguments, readyAfter: "ready")
        let said = process.greeting.split(separator: "ready ").last ?? ""
        let ports = said.split { !$0.isNumber }.compactMap { Int($0) }
        origin = "http://127.0.0.1:\(try #require(ports.first))"
        issuer = origin + issuerPath
        otherPorts = Array(ports.dropFirst())
        visitor = APIClient(origin) {
            $0.rateLimit = .unlimited
            $0.redirects = .never
        }
    }

    /// Finds the server as that app does, or another issuer of the program.
    func oauth(as client: OAuth.Client, at other: String? = nil) async throws(ServiceError) -> OAuth {
        try await OAuth.discover(other ?? issuer, client: client) { $0.rateLimit = .unlimited }
    }

    /// Makes fifty calls of the server's API at once, with a token that has expired. Returns the one that has replaced
    /// it.
    func replace(_ token: Token, of tokens: TokenStore) async throws -> Token {
        var expired = token
        expired.expiry = Date(timeIntervalSinceNow: -1)
        await tokens.signIn(expired)
        let client = APIClient(origin) {
            $0.tokens = tokens
            $0.rateLimit = .unlimited
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { _ = try await client.run(Endpoint<Data>.get("me")) } }
            try await group.waitForAll()
        }
        return try await tokens.token()
    }

    /// A browser that follows the page's redirect by itself.
    var browser: ScriptedBrowser {
        ScriptedBrowser { [self] address in try await visit(address) }
    }

    /// Opens a page, and returns the address that it leads to.
    func visit(_ address: String) async throws -> String {
        let reply = try await visitor.reply(to: Endpoint<Data>.get(url: address).accepting(302))
        return try #require(reply.headers["Location"])
    }
}
#endif
