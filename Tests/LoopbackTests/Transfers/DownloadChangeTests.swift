import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Headers that change between the attempts of a download", .timeLimit(.minutes(10)))
struct DownloadChangeTests {
    private let server: LoopbackServer
    private let scratch: Scratch
    private let file = LoopbackFile(DownloadScene.content(5000), headers: ["ETag": "\"1\""])

    init() throws {
        server = try LoopbackServer()
        scratch = try Scratch()
        let sent = Noted(0)
        server.on(.get, "/file") { [file] request in
            sent.update { $0 += 1 }
            return sent.value == 1 ? file.reply(to: request).cut(.inBody(1000)) : file.reply(to: request)
        }
    }

    private func client(_ configure: (inout Configuration) -> Void) -> APIClient {
        APIClient(server.baseURL) {
            $0.rateLimit = .unlimited
            $0.retry = RetryPolicy(attempts: 3, base: .zero)
            $0.timeout = .seconds(60)
            configure(&$0)
        }
    }

    /// Downloads the file, whose first response breaks off, and returns the ranges of the requests. A header has the
    /// value for the next number each time the client asks for it: twice for each attempt.
    private func ranges(with value: @escaping @Sendable (Int) -> String) async throws -> [String?] {
        let asked = Noted(0)
        let client = client {
            $0.headersForEachCall = {
                asked.update { $0 += 1 }
                return ["X-Own": value(asked.value - 1)]
            }
        }
        return try await ranges(of: .get("file"), by: client)
    }

    private func ranges(of endpoint: Endpoint<Data>, by client: APIClient) async throws -> [String?] {
        try await client.download(endpoint, to: scratch.path("file"))
        #expect(FileManager.default.contents(atPath: scratch.path("file")) == file.content)
        return server.received.map { $0.headers["Range"] }
    }

    @Test(
        "D15: a value that changes once in a while, between any two requests, does not begin the download again",
        arguments: [["1", "2", "5", "5"], ["1", "1", "5", "6"], ["1", "2", "5", "6"], ["1", "2", "1", "1"]])
    func onceInAWhile(values: [String]) async throws {
        #expect(try await ranges { values[$0] } == [nil, "bytes=1000-"])
    }

    @Test(
        "D15: another user who signs in at any instant does",
        arguments: [["ann", "ann", "bo", "bo"], ["ann", "bo", "bo", "bo"], ["ann", "ann", "bo", "ann"]])
    func otherUser(values: [String]) async throws {
        #expect(try await ranges { values[$0] } == [nil, nil])
    }

    /// The ways to write the time.
    enum Clock: CaseIterable {
        case seconds, fraction, milliseconds, iso8601, http

        func text(_ date: Date) -> String {
            let seconds = date.timeIntervalSince1970.rounded(.down)
            switch self {
            case .seconds: return "\(Int(seconds))"
            case .fraction: return "\(seconds)"
            case .milliseconds: return "\(Int(seconds * 1000))"
            case .iso8601: return date.formatted(.iso8601)
            case .http:
                // As in 2026-11-23T07:15:01Z.
                let parts = date.formatted(.iso8601).split { "-T".contains($0) }
                let day = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][Int(seconds) / 86400 % 7]
                let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
                let month = months[(Int(parts[1]) ?? 1) - 1]
                return "\(day), \(parts[2]) \(month) \(parts[0]) \(parts[3].dropLast()) GMT"
            }
        }
    }

    @Test("D15: the time of a request, which no two attempts share, does not", arguments: Clock.allCases)
    func time(clock: Clock) async throws {
        // Both attempts come within a second here, so the later one has the time of a second ago.
        #expect(try await ranges { clock.text(Date() - ($0 < 2 ? 0 : 1)) } == [nil, "bytes=1000-"])
    }

    @Test("D15: a number like a time, which is not that of the request, does")
    func otherTime() async throws {
        #expect(try await ranges { Clock.seconds.text(Date() - ($0 < 2 ? 100 : 50)) } == [nil, nil])
    }

    @Test(
        "D15: a later download goes on too, unless the time is a parameter of the endpoint", arguments: [true, false])
    func laterDownload(isOwn: Bool) async throws {
        let left = Noted(2)
        server.on(.get, "/later") { [file] request in
            left.update { $0 -= 1 }
            switch left.value {
            case 1: return file.reply(to: request).cut(.inBody(1000))
            case 0: return .status(404)
            default: return file.reply(to: request)
            }
        }
        let begun = Date()
        func ranges(secondsAgo: Double) async throws -> [String?] {
            @Sendable func time(of date: Date) -> String { Clock.seconds.text(date - secondsAgo) }
            let client = client { $0.parametersForEachCall = { isOwn ? [:] : ["t": time(of: Date())] } }
            return try await self.ranges(of: .get("later", query: isOwn ? ["t": time(of: begun)] : [:]), by: client)
        }
        await #expect(throws: ServiceError.self) { try await ranges(secondsAgo: 0) }
        let last = try #require(try await ranges(secondsAgo: 1).last)
        #expect(last == (isOwn ? nil : "bytes=1000-"))
    }
}
