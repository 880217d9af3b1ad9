#if os(Linux)
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
#endif

/// Streams that are not read, beside calls to the same server and to another one.
struct UnreadStreams {
    let url: String
    let authorities: String
    let count: Int
    let other: String

    /// Prints how many megabytes of memory the streams take beside calls, how many are left when they have been
    /// dropped, and how long the calls to the other server took.
    func report() async throws {
        let transport = CurlTransport(trusting: authorities)
        let beside = Beside(other, on: transport)
        try await call("x", on: transport)
        let before = Self.megabytes
        var streams: [HTTPResponse] = []
        for _ in 0..<count { streams.append(try await stream(on: transport)) }
        try await fill(on: transport)
        print("taken", Self.megabytes - before)
        streams = []
        // One after the other, each with a call that is under way on its connection when it is dropped.
        for _ in 0..<count / 2 {
            let stream = try await stream(on: transport)
            let held = Task { try await call("held", on: transport) }
            try await fill(on: transport)
            _ = stream.status
            withExtendedLifetime(stream) {}
            held.cancel()
            _ = await held.result
        }
        try await call("x", on: transport)
        await beside.report()
        await transport.shutdown()
        // A handle is freed by the task that was the last to use it.
        try await Task.sleep(for: .milliseconds(200))
        print("left", Self.megabytes - before)
    }

    /// Makes calls until the streams have been sent what the server may send.
    private func fill(on transport: CurlTransport) async throws {
        let end = ContinuousClock.now.advanced(by: .milliseconds(600))
        while ContinuousClock.now < end {
            try await call("x", on: transport)
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    private func stream(on transport: CurlTransport) async throws -> HTTPResponse {
        let request = HTTPRequest(method: .get, url: try HTTPURL("\(url)/large"))
        return try await transport.send(request, context: TransportContext(delivery: .stream))
    }

    private func call(_ path: String, on transport: CurlTransport) async throws {
        let request = HTTPRequest(method: .get, url: try HTTPURL("\(url)/\(path)"))
        _ = try await transport.send(request, context: TransportContext())
    }

    private static var megabytes: Int {
        // What is free, but not given back to the system, is no leak. Only glibc has this function.
        if let trim = dlsym(nil, "malloc_trim") {
            _ = unsafeBitCast(trim, to: (@convention(c) (Int) -> CInt).self)(0)
        }
        guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmRSS:") }),
            let kilobytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) })
        else { return 0 }
        return kilobytes / 1024
    }
}
#endif
