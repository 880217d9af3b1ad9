#if os(Linux)
import Errand
import ErrandTesting
import Foundation
import Testing

@Suite("The thread of libcurl", .timeLimit(.minutes(1))) struct CurlThreadTests {
    @Test("it takes no signals but those of faults, which threads that it starts would not take either then")
    func signals() async throws {
        let server = try LoopbackServer()
        server.onAny { _ in .json("1") }
        let client = APIClient(server.baseURL) {
            $0.transport = CurlTransport()
            $0.rateLimit = .unlimited
        }
        #expect(try await client.run(Endpoint<Int>.get("x")) == 1)
        let folder = "/proc/self/task"
        var masks: [UInt64] = []
        for thread in try FileManager.default.contentsOfDirectory(atPath: folder) {
            // One that has ended since has no status.
            guard let status = FileManager.default.contents(atPath: "\(folder)/\(thread)/status") else { continue }
            let lines = String(decoding: status, as: UTF8.self).split(separator: "\n")
            guard lines.contains("Name:\terrand.curl") else { continue }
            let mask = try #require(lines.first { $0.hasPrefix("SigBlk:\t") })
            masks.append(try #require(UInt64(mask.dropFirst(8), radix: 16)))
        }
        #expect(!masks.isEmpty)
        for mask in masks {
            func isBlocked(_ signal: CInt) -> Bool { mask & 1 << UInt64(signal - 1) != 0 }
            for signal in [SIGTERM, SIGINT, SIGUSR1, SIGCHLD] { #expect(isBlocked(signal)) }
            for signal in [SIGSEGV, SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGPROF] { #expect(!isBlocked(signal)) }
            #expect(isBlocked(SIGPIPE) == InstalledLibrary.raisesPipeSignal)
        }
        await client.shutdown()
    }
}
#endif
