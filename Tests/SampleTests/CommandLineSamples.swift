#if os(Linux)
import Dispatch
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Prints nothing among the lines of the test runner, as `print` does here.
private enum FileHandle {
    struct Nowhere {
        func write(_ data: Data) {}
    }

    static var standardError: Nowhere { Nowhere() }
}

/// Downloads the file and returns the exit code of the program.
func fetch(_ client: APIClient, to place: String) async -> Int32 {
    do {
        let file = try await client.download(.get("releases/7/app.zip"), to: place, onProgress: showProgress)
        print("\(file.bytes) bytes in \(file.path)")
        return 0
    } catch {
        FileHandle.standardError.write(Data("\(error.localizedDescription)\n".utf8))
        return error.exitCode
    }
}

/// Signs in: `friends login`, or `friends login --code`.
func logIn(_ oauth: OAuth, _ tokens: TokenStore, withCode: Bool) async throws(ServiceError) {
    let token: Token
    if withCode {
        token = try await oauth.signInOnAnotherDevice(scopes: ["read"]) { prompt in
            let text = "Open \(prompt.address) and enter \(prompt.code)\n"
            FileHandle.standardError.write(Data(text.utf8))
        }
    } else {
        token = try await oauth.signIn(scopes: ["read"], using: .systemBrowser)
    }
    await tokens.signIn(token)
}

/// Shows the progress in one line of the terminal. Unlike `print`, this shows a line that has no end yet.
@Sendable func showProgress(_ progress: TransferProgress) {
    let done = progress.fraction.map { "\(Int($0 * 100)) %" } ?? "\(progress.bytes) bytes"
    FileHandle.standardError.write(Data("\r\(done)".utf8))
}

extension ServiceError {
    /// The exit code of the program, with the numbers of `sysexits.h`.
    var exitCode: Int32 {
        switch self {
        case .cancelled: 130  // what a shell reports after Ctrl-C
        case let error where error.needsSignIn: 77  // not permitted
        case let error where error.isTransient: 75  // try again later
        default: 1
        }
    }
}

@Suite("In a command-line tool", .timeLimit(.minutes(10)))
struct CommandLineSamples {
    @Test("a signal cancels the work, and the program ends as usual")
    @MainActor func signals() async throws {
        let server = try LoopbackServer()
        server.on(.get, "/releases/7/app.zip", .silence)
        let ended = Noted<[Int32]>([])
        func exit(_ code: Int32) { ended.update { $0.append(code) } }
        defer { for number in [SIGINT, SIGTERM] { signal(number, SIG_DFL) } }
        let place = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString).zip").path
        let url = server.baseURL
        let sending = Task {
            await server.received(atLeast: 1)
            kill(getpid(), SIGTERM)
        }
        let client = APIClient(url)
        let work = Task { await fetch(client, to: place) }
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
        exit(code)
        await sending.value
        #expect(ended.value == [130])
    }

    @Test("an error has an exit code")
    func exitCodes() {
        #expect(ServiceError.signInRequired.exitCode == 77)
        #expect(ServiceError.sessionExpired(SessionExpiry(.refreshRefused)).exitCode == 77)
        #expect(ServiceError.sessionExpired(SessionExpiry(.otherSession)).exitCode == 1)
        #expect(ServiceError.noInternetConnection.exitCode == 75)
        #expect(ServiceError.rejected(Rejection(status: 404)).exitCode == 1)
    }

    private func verbose(_ isVerbose: Bool) -> APIClient {
        let client = APIClient("https://api.example.com") {
            guard isVerbose else { return }
            $0.observe = { FileHandle.standardError.write(Data("\(LogFormatter().line(for: $0))\n".utf8)) }
        }
        return client
    }

    private func session(home: String) -> TokenStore {
        let server = OAuth.ServerMetadata(
            issuer: "https://login.example.com", authorizationEndpoint: "https://login.example.com/authorize",
            tokenEndpoint: "https://login.example.com/token",
            deviceAuthorizationEndpoint: "https://login.example.com/device")
        let oauth = OAuth(server, client: .public(id: "friends"))
        let tokens = TokenStore(persistence: .file("\(home)/.config/friends/session")) {
            try await oauth.refresh($0)
        }
        return tokens
    }
}
#endif
