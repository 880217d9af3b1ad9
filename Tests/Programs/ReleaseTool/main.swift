import Dispatch
import Errand
import Foundation

// Usage: `ReleaseTool sign-in <name>`, with the password in the first line of the input, or
// `ReleaseTool get <release> <file>`.

let environment = ProcessInfo.processInfo.environment
let server = environment["RELEASES_SERVER"] ?? "https://releases.example.com"
let login = APIClient(server)
let oauth = OAuth(server: login, clientID: "release-tool", credentials: .idOnly)
let tokens = TokenStore(persistence: .file("\(environment["HOME"] ?? ".")/.config/releases/session")) {
    try await oauth.refresh($0)
}
let client = APIClient(server) { $0.tokens = tokens }

func printError(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }

/// Does what the arguments say, and returns the exit code.
func perform(_ arguments: [String]) async -> Int32 {
    do {
        switch (arguments.first, arguments.count) {
        case ("sign-in", 2):
            let grant = OAuth.Grant.password(username: arguments[1], password: readLine() ?? "")
            await tokens.signIn(try await oauth.token(grant))
        case ("get", 3):
            let file = try await client.download(.get("releases/\(arguments[1])"), to: arguments[2]) { progress in
                let done = progress.fraction.map { "\(Int($0 * 100)) %" } ?? "\(progress.bytes) bytes"
                printError("\r\(done)")
            }
            print("\(file.bytes) bytes in \(file.path)")
        default:
            printError("usage: ReleaseTool sign-in <name> | get <release> <file>\n")
            return 64
        }
        return 0
    } catch {
        printError("\n\(error.localizedDescription)\n")
        return switch error {
        case .cancelled: 130
        case _ where error.needsSignIn: 77
        case _ where error.isTransient: 75
        default: 1
        }
    }
}

let work = Task { await perform(Array(CommandLine.arguments.dropFirst())) }
let sources = [SIGINT, SIGTERM].map { number in
    signal(number, SIG_IGN)  // the source receives it instead
    let source = DispatchSource.makeSignalSource(signal: number, queue: .main)
    source.setEventHandler {
        work.cancel()
        signal(number, SIG_DFL)  // a second one ends the program
    }
    source.resume()
    return source
}
let code = await work.value
sources.forEach { $0.cancel() }
await client.shutdown()
await login.shutdown()
await tokens.waitUntilSaved()
exit(code)
