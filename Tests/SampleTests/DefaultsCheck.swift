import Errand
import ErrandFleet
import Foundation
import Testing

/// Compares the page of defaults with the code.
@Suite("Defaults")
struct DefaultsCheck {
    /// A fixed limit: what a row of the page says about it, and the line of code that it is taken from.
    struct Limit: CustomTestStringConvertible, Sendable {
        var row: String
        var text: String
        var file: String
        var code: String

        var testDescription: String { "\(row): \(text)" }

        init(_ row: String, _ text: String, _ file: String, _ code: String) {
            (self.row, self.text, self.file, self.code) = (row, text, file, code)
        }
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func read(_ file: String) throws -> String {
        try String(contentsOf: root.appending(path: file), encoding: .utf8)
    }

    private static func row(_ name: String) throws -> String {
        let rows = try read("Docs.docc/Defaults.md").split(separator: "\n").filter { $0.hasPrefix("| \(name) |") }
        try #require(rows.count == 1, "the page has \(rows.count) rows \(name)")
        return String(rows[0])
    }

    @Test("a fixed limit is the one in the code", arguments: limits)
    func fixed(_ limit: Limit) throws {
        #expect(try Self.row(limit.row).contains(limit.text))
        let code = try Self.read("Sources/\(limit.file)").split(separator: "\n").map { String($0).trimmed }
        let hasLimit = code.contains { line in
            // In "= 50" and "= 5_000", "= 5" is not the limit.
            let next = line.dropFirst(limit.code.count).first
            return line.hasPrefix(limit.code) && next?.isNumber != true && next != "_"
        }
        #expect(hasLimit, "the limit has changed; is the page still right?")
    }

    @Test("a setting has the default that the page gives")
    func settings() throws {
        let configuration = APIClient("https://api.example.com").configuration
        #expect(configuration.timeout == .seconds(30))
        #expect(try Self.row("``Configuration/timeout``").contains("| 30 s |"))
        #expect(configuration.rateLimit == .requests(5, per: .seconds(1)))
        #expect(try Self.row("``Configuration/rateLimit``").contains("| 5 requests per second |"))
        #expect(configuration.bodiesInEvents == 0)
        #expect(configuration.concurrency == .none && ConcurrencyLimit.atMost(1) == .atMost(1, queue: 1000))
        #expect(try Self.row("``Configuration/concurrency``").contains("| no limit | with `.atMost`, 1,000 requests"))
        #expect(configuration.servers.choice == .inOrder(returningAfter: .seconds(60)))
        #expect(try Self.row("``Configuration/servers``").contains("| in order | returns to the first after 60 s;"))
        let breaker = CircuitBreaker.opening(at: 0.5, ofAtLeast: 20, within: .seconds(30), for: .seconds(10))
        #expect(configuration.breaker == .none && breaker == .standard)
        #expect(try Self.row("``Configuration/breaker``").contains("half of at least 20 within 30 s, for 10 s"))
        #expect(
            configuration.hedging == .none
                && .after(.percentile(95)) == HedgingPolicy.after(.percentile(95), budget: 0.05))
        #expect(
            try Self.row("``Configuration/hedging``").contains("first 10 repetitions are free, one more for 20"))
        #expect(configuration.longestServerPause == .seconds(3600))
        #expect(try Self.row("``Configuration/longestServerPause``").contains("| 1 hour |"))
        #expect(configuration.responseByteLimit == 64 << 20)
        #expect(try Self.row("``Configuration/responseByteLimit``").contains("| 64 MiB"))
        #expect(configuration.acceptedContentTypes == ["application/json", "text/json", "application/*+json"])
        #expect(
            try Self.row("``Configuration/acceptedContentTypes``")
                .contains("| `application/json`, `text/json`, `application/*+json` |"))
        #expect(configuration.deadline == nil && configuration.cache == nil && configuration.cookies == nil)
        let retry = RetryPolicy.standard
        #expect(retry.attempts == 3 && retry.statuses == [408, 429, 500, 502, 503, 504])
        #expect(try Self.row("``RetryPolicy/statuses``").contains("| 408, 429, 500, 502, 503, 504 |"))
        #expect(retry.maximumRetryAfter == .seconds(60))
        #expect(try Self.row("``RetryPolicy/maximumRetryAfter``").contains("| 60 s |"))
    }

    #if os(Linux)
    @Test("a transport has the defaults that the page gives")
    func transport() throws {
        let options = CurlTransport.Options()
        #expect(options.connectionsPerOrigin == 64 && options.streamsPerOrigin == 100)
        #expect(try Self.row("requests of a client to an origin at once, libcurl").contains("64, over HTTP/2 100"))
    }
    #endif
}

extension DefaultsCheck {
    static let limits = [
        Limit(
            "pause that calls wait for", "60 s", "Errand/RateLimit/RateLimiter.swift",
            "package static let longestPause = Duration.seconds(60)"),
        Limit(
            "retry quota of a client", "500 units", "Errand/Retry/RetryQuota.swift", "static let capacity = 500"),
        Limit(
            "``Configuration/redirects``", "at most 10", "Errand/Redirects/Redirects.swift",
            "private static let limit = 10"),
        Limit(
            "``Configuration/redirects``", "64 KiB", "Errand/Redirects/Redirects.swift",
            "private static let longestLocation = 64 << 10"),
        Limit(
            "a response in a cache", "32 fields in `Vary`", "Errand/Cache/CacheVariant.swift",
            "static let mostNames = 32"),
        Limit(
            "``Configuration/bodiesInEvents``", "64 KiB", "Errand/Pipeline/ShownBodies.swift",
            "private static let largestForm = 64 << 10"),
        Limit(
            "endpoints whose deprecation is reported", "1,000 of a process", "Errand/Events/Deprecation.swift",
            "private static let mostAnnounced = 1000"),
        Limit("a response in a cache", "256 tags", "Errand/Cache/StoredResponse.swift", "static let mostNames = 256"),
        Limit(
            "wait for a cache on a disk", "250 ms to read", "Errand/Cache/DiskCacheStore.swift",
            "var reading = Duration.milliseconds(250)"),
        Limit(
            "wait for a cache on a disk", "100 ms to write", "Errand/Cache/DiskCacheStore.swift",
            "var writing = Duration.milliseconds(100)"),
        Limit(
            "responses that wait to be written to a disk", "32 MiB", "Errand/Cache/DiskCacheStore.swift",
            "private static let queueLimit = 32 << 20"),
        Limit(
            "memory of a cache on a disk", "4 MiB, or an eighth", "Errand/Cache/DiskCacheStore.swift",
            "private static let (frontLimit, frontShare) = (4 << 20, 8)"),
        Limit(
            "memory beside a cache on a disk", "16 MiB", "Errand/Cache/SplitCacheStore.swift",
            "private static let memoryLimit = 16 << 20"),
        Limit(
            "limits of ``FastJSONDecoder``", "512 levels", "ErrandJSON/JSONParser.swift",
            "private static let deepest = 512"),
        Limit(
            "JSON of an error that is read", "1 MiB", "Errand/Client/ErrorBody.swift",
            "static let largestBody = 1 << 20"),
        Limit(
            "``Rejection/message``", "500 characters", "Errand/Client/ErrorBody.swift",
            "private static let longestMessage = 500"),
        Limit(
            "``DecodingFailure/snippet``", "200 characters", "Errand/Client/ResponseInterpreter.swift",
            "private static let snippetLength = 200"),
        Limit(
            "pause of an event stream", "from 0.5 s", "Errand/Streams/EventPause.swift",
            "private static let shortest = Duration.milliseconds(500)"),
        Limit(
            "refused new tokens", "5 within 30 s", "Errand/Auth/Session/RefreshPace.swift",
            "private static let cap = 5"),
        Limit(
            "refused new tokens", "for one endpoint 5", "Errand/Auth/Session/RefusedPlaces.swift",
            "private static let (capOfPlace, cap) = (5, 8)"),
        Limit(
            "refused refreshes without a reason", "a minute", "Errand/Auth/Session/SessionState.swift",
            "private static var muteTime: Duration { .seconds(60) }"),
        Limit(
            "size of the value that is saved with a session", "64 KiB", "Errand/Auth/Session/TokenStoreUser.swift",
            "private static let largestKept = 64 << 10"),
        Limit(
            "connections to it", "64 KiB", "Errand/Auth/OAuth/Loopback/LoopbackReceiver.swift", "var head = 64 << 10"),
        Limit(
            "connections to it", "| 16, of 10 s", "Errand/Auth/OAuth/Loopback/LoopbackReceiver.swift",
            "var connections = 16"),
        Limit(
            "polls of a sign-in on another device", "up to every 60 s", "Errand/Auth/OAuth/Device/DevicePolls.swift",
            "private static let longestPause = Duration.seconds(60)"),
        Limit(
            "authorization servers that an API names", "| 10,", "Errand/Auth/OAuth/Discovery/ResourceDiscovery.swift",
            "private static let mostServers = 10"),
        Limit(
            "members of a token response", "64, fixed", "Errand/Auth/OAuth/OAuthAnswer.swift",
            "private static let (mostMembers, mostBytes) = (64, 16 << 10)"),
        Limit(
            "an RSA key", "from 2,048 to 16,384 bits", "Errand/Crypto/RSAKey.swift",
            "private static let sizes = 2048...16384"),
        Limit(
            "a `Cookie` header", "8,190 bytes", "Errand/Cookies/JarState.swift", "var header = 8190"),
        Limit(
            "size of a ``ValueArchive``", "64 MiB", "Errand/Archive/ArchiveFile.swift",
            "static let largest = 64 << 20"),
        Limit(
            "attempts of a download without progress", "4 KiB", "Errand/Transfers/DownloadState.swift",
            "private static let leastProgress = 4 << 10"),
        Limit(
            "saving a new token of a `FleetSessions`", "2 minutes", "ErrandFleet/Sessions/FleetSessions.swift",
            "private static let savingLimit = Duration.seconds(120)"),
        Limit(
            "`lifetime` of the mark of a refresh", "10 minutes", "ErrandFleet/Sessions/SessionMarks.swift",
            "private static let longest = Duration.seconds(600)"),
        Limit(
            "a record that is watched", "every 30 s", "ErrandFleet/Store/RecordWatch.swift",
            "package static let interval = Duration.seconds(30)"),
        Limit(
            "a record", "512 KiB", "ErrandFleet/Store/FleetRecordRules.swift",
            "package static let largestRecord = 512 << 10"),
        Limit(
            "``Configuration/servers``", "at most 64", "Errand/Servers/ServerList.swift", "static let most = 64"),
        Limit("``Configuration/hedging``", "first 10 ", "Errand/Servers/Hedges.swift", "static let most = 10.0"),
        Limit(
            "``Configuration/hedging``", "1,000 endpoints", "Errand/Servers/Hedges.swift",
            "static let mostEndpoints = 1000"),
        Limit(
            "``Configuration/hedging``", "20 responses", "Errand/Servers/Hedges.swift",
            "static let leastResponses = 20"),
        Limit(
            "a server that is set aside", "10 s", "Errand/Servers/ServerHealth.swift",
            "var pause = Duration.seconds(10)"),
        Limit(
            "a server that is set aside", "300 s", "Errand/Servers/ServerHealth.swift",
            "var longestPause = Duration.seconds(300)"),
        Limit(
            "failures in a row that set a server aside", "| 3,", "Errand/Servers/ServerHealth.swift",
            "var failures = 3"),
        Limit(
            "failures in a row that set a server aside", "has 20", "Errand/Servers/ServerHealth.swift",
            "var failuresOfLast = 20"),
        Limit(
            "a thread without requests, but the first", "120 s", "Errand/Transport/Curl/CurlLoops.swift",
            "static let idleTime = Duration.seconds(120)"),
        Limit(
            "threads of a transport, libcurl", "for each 16 requests", "Errand/Transport/Curl/CurlChoice.swift",
            "static let enough = 16"),
        Limit(
            "kept connections, libcurl", "512", "Errand/Transport/Curl/CurlWorker.swift",
            "private static let fewestConnections = 512"),
        Limit(
            "head of a response, libcurl", "256 KiB", "Errand/Transport/Curl/CurlRequest.swift",
            "private static let largestHead = 256 << 10"),
        Limit(
            "pause of HTTP/3 after a failure, libcurl", "5 minutes", "Errand/Transport/Curl/CurlHTTP3.swift",
            "private static let firstPause = Duration.seconds(300)"),
        Limit(
            "pause of HTTP/3 after a failure, libcurl", "up to a day", "Errand/Transport/Curl/CurlHTTP3.swift",
            "private static let longestPause = Duration.seconds(86_400)"),
        Limit(
            "the address of a host, libcurl", "60 s", "Errand/Transport/Curl/CurlLookups.swift",
            "private static var memory: Duration { .seconds(60) }"),
        Limit("origins that want HTTP/1.1, libcurl", "64", "CCurl/origins.h", "enum { CCURL_ORIGINS = 64 };"),
        Limit("codings of a body, libcurl", "| 5,", "CCurl/decoder.c", "#define MOST_CODINGS 5"),
        Limit(
            "codings of a body, libcurl", "8 MiB", "CCurl/zstd.c",
            "enum { ZSTD_LARGEST_WINDOW = 100, ZSTD_8_MEGABYTES = 23 };"),
    ]
}
