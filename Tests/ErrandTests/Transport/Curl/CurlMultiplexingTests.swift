#if os(Linux)
import Testing

@testable import Errand

@Suite("Which requests share connections") struct CurlMultiplexingTests {
    /// libcurl's numbers for the versions of HTTP.
    private static let (http1, http2, http3) = (2, 3, 30)

    /// What is known after responses over these versions.
    private func multiplexing(after versions: Int...) -> CurlMultiplexing {
        var multiplexing = CurlMultiplexing()
        for version in versions { multiplexing.note(version, of: 1) }
        return multiplexing
    }

    @Test(
        "C96: over TCP, only a response over TCP counts",
        arguments: [
            ([], false), ([http3], false), ([http1], false), ([http2], true), ([http1, http3], false),
            ([http2, http3], true), ([http3, http2], true), ([http2, http1], false), ([http2, http3, http1], false),
        ] as [([Int], Bool)])
    func overTCP(versions: [Int], isKnown: Bool) {
        var multiplexing = CurlMultiplexing()
        for version in versions { multiplexing.note(version, of: 1) }
        #expect(multiplexing.isKnown(to: 1, going: .usual) == isKnown)
        #expect(!multiplexing.isKnown(to: 2, going: .usual))
    }

    @Test("C96: where a request may go over either, the last response counts")
    func overEither() {
        #expect(!multiplexing().isKnown(to: 1, going: .preferred))
        #expect(multiplexing(after: Self.http1, Self.http3).isKnown(to: 1, going: .preferred))
        #expect(!multiplexing(after: Self.http3, Self.http1).isKnown(to: 1, going: .preferred))
        #expect(multiplexing(after: Self.http1, Self.http3).isKnown(to: 1, going: .kept))
        #expect(!multiplexing(after: Self.http2, Self.http3).isKnown(to: 1, going: .trial))
    }

    @Test("a transfer without a response shows nothing")
    func none() {
        #expect(multiplexing(after: Self.http2, 0).isKnown(to: 1, going: .usual))
    }
}
#endif
