#if os(Linux)
@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A libcurl with known faults") struct CurlFaultTests {
    @Test(
        "its version tells which faults a server can exploit",
        arguments: [
            ("7.68.0", ["CVE-2022-32206"]),
            ("7.83.1", ["CVE-2022-32206"]),
            ("7.84.0", []),
            ("7.87.0", ["#10146"]),
            ("7.88.1", []),
            ("8.1.2", ["#11426", "CVE-2026-92392"]),
            ("8.9.0", ["CVE-2026-92392"]),
            ("8.11.1-DEV", ["CVE-2025-0665", "CVE-2026-92392"]),
            ("8.22.0", ["CVE-2026-92392"]),
            ("8.23.0", []),
            ("9.0", []), ("stub", []), ("", []),
        ])
    func table(version: String, faults: [String]) {
        #expect(CurlFault.all(of: version).map(\.name) == faults)
    }

    @Test("the warning names the version, the faults, and what to do")
    func warning() {
        #expect(
            CurlFault.warning(about: "8.1.2")
                == "libcurl 8.1.2 is known for faults that a server can use: #11426 (uploads over HTTP/2 can wait "
                + "until their time is up), CVE-2026-92392 (a refused upload over HTTP/2 can have freed memory "
                + "used). Update it, unless your distribution has mended them without a new version")
        #expect(CurlFault.warning(about: "7.88.1") == nil)
    }

    @Test("it is reported once, to the first client with a listener, before its request")
    func told() async throws {
        // Another one each time that this runs in a process.
        let warning = "an old library, \(UUID())"
        let transport = WarningTransport(warning: warning)
        func lines(isHeard: Bool) async throws -> [String] {
            let client = APIClient("https://api.test") { $0.transport = transport }
            let events = isHeard ? client.diagnostics : nil
            _ = try await client.run(Endpoint<[Int]>.get("x"))
            await client.shutdown()
            var lines: [String] = []
            if let events { for await event in events { lines.append(LogFormatter().line(for: event)) } }
            return lines
        }
        #expect(try await lines(isHeard: false) == [])
        let first = try await lines(isHeard: true)
        #expect(first.prefix(2) == ["#1 GET x  began", "#1 GET x  warning: \(warning)"])
        let second = try await lines(isHeard: true)
        #expect(!second.contains { $0.contains("warning") })
    }

    @Test("of many that ask for a notice at once, one gets it")
    func once() async {
        let notice = Notice("x")
        let taken = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<1000 { group.addTask { notice.take() } }
            return await group.reduce(into: [String]()) { all, text in if let text { all.append(text) } }
        }
        #expect(taken == ["x"])
    }
}

private struct WarningTransport: Transport {
    let warning: String?

    func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        HTTPResponse(status: 200, headers: ["Content-Type": "application/json"], body: .bytes(Data("[1]".utf8)))
    }

    func shutdown() async {}
}
#endif
