import Errand
import ErrandFleet
import Foundation

// A separate process for the tests that need several processes, or one that dies:
//
//     TokenSharer rewrite FILE                 writes newer and newer sessions until it is killed
//     TokenSharer replace FILE SERVER TIMES    replaces the token TIMES times, beside others; prints the last one
//     TokenSharer run FILE SERVER              uses the session as a tool does that a script starts; prints its token.
//                                              SERVER is a file, or the URL of an authorization server
//     TokenSharer die FILE                     replaces the token for ten waiters; the first to continue kills it
//     TokenSharer hold FILE                    locks the file, and stops like a process in a debugger
//     TokenSharer lock FILE                    waits for the lock, a second at most, and prints what it got; after a
//                                              suspension, it says when it has tried again
//     TokenSharer save FILE                    saves one session
//     TokenSharer remove FILE                  removes the saved session
//     TokenSharer fill FILE                    replaces a token when nothing more can be written
//     TokenSharer fleet STORE KEY URL MS       replaces the token of a session in a fleet's store, beside others
//     TokenSharer member STORE KEY URL MS      uses that session, and prints its token

/// Prints at once: a process that is killed cannot flush a buffer.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
}

let arguments = CommandLine.arguments.dropFirst().map { $0 }
guard arguments.count >= 2 else { exit(64) }
// Many processes may wait for one another, on a machine that is busy.
let file = FileTokenPersistence(path: arguments[1], lockTimeout: .seconds(60))

switch arguments[0] {
case "rewrite":
    var revision = (try await file.load()?.revision ?? 0) + 1
    while true {
        // Large enough for a kill to come in the middle of the write.
        let token = Token(accessToken: String(repeating: "\(revision).", count: 40_000))
        let session = SavedSession(id: UUID(), revision: revision, token: token, received: Date())
        try await file.exclusively { _ in _ = try? await file.save(session) }
        say("\(revision)")
        revision += 1
    }
case "replace":
    let server = RevokingServer(path: arguments[2])
    let tokens = TokenStore(persistence: file) { try await server.refresh($0) }
    var token = try await tokens.token()
    // All processes hold the same token before the first one replaces it.
    say("ready")
    _ = readLine()
    for _ in 0..<(Int(arguments[3]) ?? 1) { token = try await tokens.replacement(for: token) }
    say(token.accessToken)
case "run" where arguments.count == 3:
    let tokens: TokenStore
    if arguments[2].hasPrefix("http") {
        let metadata = OAuth.ServerMetadata(tokenEndpoint: "\(arguments[2])/token")
        let oauth = OAuth(metadata, client: .public(id: "tool"))
        tokens = TokenStore(persistence: file) { try await oauth.refresh($0) }
    } else {
        let server = RevokingServer(path: arguments[2])
        tokens = TokenStore(persistence: file) { try await server.refresh($0) }
    }
    do {
        say(try await tokens.token().accessToken)
        await tokens.waitUntilSaved()
    } catch {
        say("\(error)")
        exit(1)
    }
case "die":
    let tokens = TokenStore(persistence: file) { _ in Token(accessToken: "rotated", refreshToken: "rotated") }
    let old = try await tokens.token()
    await withTaskGroup { group in
        for _ in 0..<10 {
            group.addTask {
                _ = try? await tokens.replacement(for: old)
                kill(getpid(), SIGKILL)
            }
        }
    }
case "hold":
    try await file.exclusively { _ in
        say("held")
        raise(SIGSTOP)
    }
case "lock":
    let path = arguments[1]
    // Longer than a busy machine takes from the word that this process continues to the end of the other's lock.
    let limit = Duration.seconds(5)
    let limited = FileTokenPersistence(path: path, lockTimeout: limit)
    Task.detached {
        var last = ContinuousClock.now
        while case let now = ContinuousClock.now, now - last < limit {
            last = now
            // Nothing is said when the process continues; a gap between two looks at the clock shows it.
            try? await Task.sleep(for: .milliseconds(10))
        }
        // A second wait, which is over when the first has gone on for as long.
        _ = try? await FileTokenPersistence(path: path, lockTimeout: .milliseconds(100)).exclusively { _ in }
        say("continued")
    }
    Task.detached {
        // The wait for the lock has begun by then, which nothing reports.
        try? await Task.sleep(for: .milliseconds(50))
        // By itself, since whoever suspends it might come too late.
        raise(SIGSTOP)
    }
    do {
        try await limited.exclusively { _ in say("locked") }
    } catch {
        say("\(error)")
    }
case "save", "remove":
    do {
        let session = SavedSession(id: UUID(), token: Token(accessToken: "a"), received: Date())
        try await file.save(arguments[0] == "save" ? session : nil)
    } catch {
        // An uncaught error ends a program like a crash, which sanitizers and debuggers analyse at length.
        exit(1)
    }
case "fill":
    let tokens = TokenStore(persistence: file) { _ in Token(accessToken: "rotated", refreshToken: "rotated") }
    var events = tokens.events.makeAsyncIterator()
    let old = try await tokens.token()
    // No file may grow beyond a few bytes: the write begins, and fails half-way, as on a full disk.
    signal(SIGXFSZ, SIG_IGN)
    var limit = rlimit(rlim_cur: 16, rlim_max: 16)
    #if canImport(Glibc)
    setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    #else
    setrlimit(RLIMIT_FSIZE, &limit)
    #endif
    say(try await tokens.replacement(for: old).accessToken)
    say(try await tokens.token().accessToken)
    while let event = await events.next() {
        if case .notSaved(let error) = event { say("notSaved \(error.kind.rawValue)") }
        if case .refreshed = event { break }
    }
case "fleet" where arguments.count == 5, "member" where arguments.count == 5:
    let member = FleetMember(
        store: arguments[1], key: arguments[2], server: arguments[3], milliseconds: Int(arguments[4]) ?? 1000)
    guard let member else { exit(64) }
    await arguments[0] == "fleet" ? member.replace() : member.use()
default:
    exit(64)
}
