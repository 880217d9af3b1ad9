import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

// A separate process for the tests of a transport that need another environment, or a process that does nothing else:
//
//     TransportProbe get URL [proxy=none|PROXY] [pin=HASH] [identity=FILE] [authorities=FILE] [http3=assumed]
//                            [socket=PATH]
//         sends one request; prints the status and the body, or the kind of failure, whether the server may have
//         seen the request, and the message
//     TransportProbe series [authorities=FILE] [METHOD]URL...
//         sends the requests, GETs by default, one after the other with one transport, a POST with a body, and a PUT
//         with one of 100 KB; prints for each the status or the kind of failure
//     TransportProbe peaks URL...
//         sends GETs one after the other with one transport; prints for each the status or the kind of failure, and by
//         how many megabytes the most memory of the process has grown
//     TransportProbe unread URL AUTHORITIES STREAMS OTHER
//         begins so many streams, which it does not read, and makes calls to the same server; prints how many megabytes
//         of memory that takes, how long calls to OTHER took beside it, and how many megabytes are left at the end
//     TransportProbe turnovers URL AUTHORITIES POSTS OTHER
//         makes so many POSTs, eight at a time; prints how many of the first half have failed, how many of the second,
//         and how long calls to OTHER took beside it
//     TransportProbe bodies AUTHORITIES URL...
//         sends GETs one after the other with one transport, which trusts that file of certificates; prints each body
//     TransportProbe together AUTHORITIES URL...
//         sends GETs with one transport, which trusts that file of certificates, all at once; prints for each the
//         status or the kind of failure, or `late` at the timeout
//     TransportProbe latecomer URL
//         opens files until it can open no more, creates a transport, and calls URL; closes some, and calls it twice
//         more; prints the kind of failure and the message, or the status
//     TransportProbe inherited URL
//         calls URL; prints which descriptors a program that is started would inherit, besides the first three
//     TransportProbe lookup SLOW QUICK
//         SLOW names a host whose lookup hangs, QUICK one that responds; prints how many milliseconds each of these
//         took: a cancelled call to SLOW, one with a timeout, the slowest of the calls to QUICK beside them, and the
//         shutdown during another call to SLOW
//     TransportProbe lookups URL CALLS MILLISECONDS GATE never|later
//         makes so many calls at once, with that timeout, to a host whose lookup reads the FIFO GATE until that is
//         closed: never, or when the first call, which is cancelled, has ended; prints how many have ended in which
//         way, and how many threads libcurl has then
//     TransportProbe names COUNT OTHER
//         makes calls to so many hosts whose lookups hang, and calls OTHER beside them; prints how many have ended in
//         which way, and how many threads libcurl has then
//     TransportProbe starving ATTACKED AUTHORITIES
//         calls ATTACKED, whose body never ends, eight times at once; prints for how many milliseconds libcurl's thread
//         has worked during the slowest call to another server beside them, during one to ATTACKED with a deadline
//         of 300 ms, and until all have ended that are cancelled
//     TransportProbe exhausted FIRST SECOND
//         calls FIRST, opens files until it can open no more, and calls SECOND and FIRST; prints the status or the kind
//         of failure and the message
//     TransportProbe leftovers URL shutdown|drop
//         calls with ten clients and ends them; prints how many descriptors and threads there were before, during them
//         and at the end
//     TransportProbe receivers TIMES cancelled|late|failed
//         begins so many sign-ins with a receiver, some with connections that stay silent, and ends them; prints how
//         many descriptors there were before, during them and at the end, and how many sockets still listen
//     TransportProbe ending URL AUTHORITIES
//         calls URL, prints the status, and ends while further calls are made
//     TransportProbe download BASE PATH [LIMIT]
//         downloads `file` of that server to the path, where no file may grow beyond LIMIT bytes; prints a line when
//         the first bytes have come, and at the end the number of bytes that were there before, or the error
//     TransportProbe limited URL default|set
//         makes seven calls, with the default limit or with the same limit that was set; prints nothing
//     TransportProbe hung BASE HUNG HEALTHY
//         uses files in the folder HUNG, whose disk hangs, and beside them files in HEALTHY; prints for each kind of
//         work how many milliseconds it took at most
//     TransportProbe folders PATTERN COUNT HEALTHY OTHER
//         uses files in so many folders, whose names are the pattern and a number, and whose disk hangs; prints how
//         long calls to OTHER took beside that, and how many milliseconds it took at most to save a value in HEALTHY
//     TransportProbe cache FOLDER CALLS
//         makes calls in eight tasks that fill a cache of one megabyte in the folder: so many each, or without an end
//         if that is 0; prints a line after the first call, one for each value that is wrong and each call that fails,
//         and at the end how many calls the cache has answered
//     TransportProbe torture BASE FOLDER cold|warm
//         uses everything while one call fails, which a preloaded library chooses; prints what went wrong

#if os(Linux)
/// Returns the status or the kind of failure, and the message.
func outcome(of url: String, _ transport: CurlTransport) async throws -> (word: String, words: String) {
    do {
        let method = url.prefix { $0.isUppercase }
        var request = HTTPRequest(
            method: method.isEmpty ? .get : HTTPMethod(rawValue: String(method)),
            url: try HTTPURL(String(url.dropFirst(method.count))))
        if request.method == .post { request.body = .bytes(Data("sent".utf8)) }
        if request.method == .put { request.body = .bytes(Data(repeating: 0x20, count: 100_000)) }
        return ("\(try await transport.send(request, context: TransportContext()).status)", "")
    } catch ServiceError.transport(let failure) {
        return (failure.kind.rawValue, failure.message)
    }
}

let arguments = CommandLine.arguments.dropFirst().map { $0 }
guard arguments.count >= 2 else { exit(64) }

switch arguments[0] {
case "get":
    var options = CurlTransport.Options()
    for option in arguments.dropFirst(2) {
        let parts = option.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { exit(64) }
        switch parts[0] {
        case "proxy": options.proxy = parts[1] == "none" ? .none : .url(parts[1])
        case "pin": options.pinnedPublicKeys = [parts[1]]
        case "identity": options.clientCertificate = .init(certificate: parts[1], key: parts[1])
        case "http3": options.http3 = .assumed
        case "authorities": options.certificateAuthorities = parts[1]
        case "socket": options.unixSocket = parts[1]
        default: exit(64)
        }
    }
    let transport = CurlTransport(options)
    do {
        let request = HTTPRequest(method: .get, url: try HTTPURL(arguments[1]))
        let response = try await transport.send(request, context: TransportContext())
        print(response.status, String(decoding: response.body.bytes ?? Data(), as: UTF8.self))
    } catch ServiceError.transport(let failure) {
        print(failure.kind.rawValue, failure.mayHaveReachedServer, failure.message)
    }
    // Where OpenSSL cannot be told to free nothing when the program ends, since it is linked into libcurl or behind a
    // library of the tests, a thread that goes on by then can crash it.
    await transport.shutdown()
case "series":
    var (options, urls) = (CurlTransport.Options(), arguments.dropFirst())
    if urls.first?.hasPrefix("authorities=") == true {
        options.certificateAuthorities = String(urls.removeFirst().dropFirst(12))
    }
    let transport = CurlTransport(options)
    for url in urls { print(try await outcome(of: url, transport).word) }
    await transport.shutdown()
case "peaks":
    try await Peaks(urls: arguments.dropFirst().map(\.self)).report()
case "unread" where arguments.count == 5:
    try await UnreadStreams(
        url: arguments[1], authorities: arguments[2], count: Int(arguments[3]) ?? 0, other: arguments[4]
    ).report()
case "turnovers" where arguments.count == 5:
    try await Turnovers(
        url: arguments[1], authorities: arguments[2], count: Int(arguments[3]) ?? 0, other: arguments[4]
    ).report()
case "bodies":
    let transport = CurlTransport(trusting: arguments[1])
    for url in arguments.dropFirst(2) {
        let request = HTTPRequest(method: .get, url: try HTTPURL(url))
        let response = try await transport.send(request, context: TransportContext())
        print(String(decoding: response.body.bytes ?? Data(), as: UTF8.self))
        // Until something has arrived that no request asked for, which nothing reports.
        try await Task.sleep(for: .milliseconds(120))
    }
    await transport.shutdown()
case "together":
    let transport = CurlTransport(trusting: arguments[1])
    let calls = arguments.dropFirst(2).map { url in Task { try await outcome(of: url, transport).word } }
    for call in calls {
        switch await call.result {
        case .success(let word): print(word)
        case .failure: print("late")
        }
    }
    await transport.shutdown()
case "exhausted" where arguments.count == 3:
    let transport = CurlTransport()
    _ = try await outcome(of: arguments[1], transport)
    while open("/dev/null", O_RDONLY) >= 0 {}
    for url in [arguments[2], arguments[1]] {
        let (word, words) = try await outcome(of: url, transport)
        print(word, words)
    }
case "latecomer":
    // Dispatch itself needs descriptors, and ends a process that has none for it.
    try await Task.sleep(for: .milliseconds(1))
    var held: [CInt] = []
    while case let descriptor = open("/dev/null", O_RDONLY), descriptor >= 0 { held.append(descriptor) }
    let transport = CurlTransport()
    for closed in [0, 64, 0] {
        for descriptor in held.suffix(closed) { close(descriptor) }
        held.removeLast(closed)
        let (word, words) = try await outcome(of: arguments[1], transport)
        print(word, words)
    }
    await transport.shutdown()
case "inherited":
    let transport = CurlTransport()
    print(try await outcome(of: arguments[1], transport).word)
    for descriptor: CInt in 3..<1024 {
        let flags = fcntl(descriptor, F_GETFD)
        guard flags >= 0, flags & FD_CLOEXEC == 0 else { continue }
        print((try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")) ?? "")
    }
    await transport.shutdown()
case "lookup" where arguments.count == 3:
    try await SlowLookup(slow: arguments[1], quick: arguments[2]).report()
case "lookups" where [6, 7].contains(arguments.count):
    try await ManyLookups(
        url: arguments[1], calls: Int(arguments[2]) ?? 0, timeout: .milliseconds(Int(arguments[3]) ?? 0),
        gate: arguments[4], lookupEnds: arguments[5] == "later",
        authorities: arguments.count > 6 ? arguments[6] : nil
    ).report()
case "names" where arguments.count == 3:
    try await ManyNames(count: Int(arguments[1]) ?? 0, other: arguments[2]).report()
case "starving" where arguments.count == 4:
    try await Starving(attacked: arguments[1], authorities: arguments[2], calls: Int(arguments[3]) ?? 0).report()
case "leftovers" where arguments.count == 3:
    try await Leftovers(url: arguments[1], isShutDown: arguments[2] == "shutdown").report()
case "receivers" where arguments.count == 3:
    try await Receivers(count: Int(arguments[1]) ?? 0, ending: arguments[2]).report()
case "ending" where arguments.count == 3:
    try await Ending(url: arguments[1], authorities: arguments[2]).run()
case "download" where arguments.count >= 3:
    await Downloading(base: arguments[1], path: arguments[2], limit: arguments.dropFirst(3).first.flatMap(rlim_t.init))
        .report()
case "limited" where arguments.count == 3:
    let client = APIClient(arguments[1]) {
        if arguments[2] == "set" { $0.rateLimit = .requests(5, per: .seconds(1)) }
    }
    // All at once: however slow the machine is, the sixth has to wait.
    try await withThrowingTaskGroup(of: Void.self) { calls in
        for _ in 0..<7 { calls.addTask { _ = try await client.run(Endpoint<Data>.get("x")) } }
        try await calls.waitForAll()
    }
case "hung" where arguments.count == 4:
    await HungDisk(base: arguments[1], hung: arguments[2], healthy: arguments[3]).report()
case "folders" where arguments.count == 5:
    let beside = Beside(arguments[4], on: CurlTransport())
    _ = (0..<(Int(arguments[2]) ?? 0)).map { number in
        Task { try await ValueArchive<Int>(path: "\(arguments[1])\(number)/archive").save(1) }
    }
    // The disk hangs by then, which nothing reports.
    try await Task.sleep(for: .milliseconds(100))
    var slowest = Duration.zero
    for number in 0..<30 {
        let archive = ValueArchive<Int>(path: "\(arguments[3])/archive-\(number)")
        slowest = max(slowest, try await ContinuousClock().measure { try await archive.save(1) })
        // Spread over the second and a half in which more and more of the work is found to hang.
        try await Task.sleep(for: .milliseconds(50))
    }
    await beside.report()
    print(Int(slowest / .milliseconds(1)))
    // The work that hangs would end only with the disk.
    exit(0)
case "cache" where arguments.count == 3:
    await CacheFilling(folder: arguments[1], calls: Int(arguments[2]) ?? 0).report()
case "torture" where arguments.count == 4:
    await Torture(base: arguments[1], folder: arguments[2], isWarm: arguments[3] == "warm").report()
default:
    exit(64)
}
#else
print("there is nothing to probe here")
#endif
