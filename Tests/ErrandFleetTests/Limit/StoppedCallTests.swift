#if os(Linux)
import Errand
import ErrandSimulation
import ErrandTestSupport
import Foundation
import Testing

/// A process is stopped after it has taken a permit, until its lifetime is over. When it continues, it cannot reach the
/// store, so it has no permit that is valid: whatever it sends then, it sends with one that it has lost.
@Suite("A process that is stopped in the middle of a call", .serialized, .timeLimit(.minutes(5)))
struct StoppedCallTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    private static func server() throws -> LoopbackServer {
        let server = try LoopbackServer()
        server.onAny { _ in .status(204) }
        return server
    }

    @Test(
        "F4: a process that is stopped between any two lines of a call sends nothing with a permit that it has lost",
        arguments: ["plain", "full"])
    func everyPlace(shape: String) async throws {
        let server = try Self.server()
        let node = try StoppedNode(shape, at: 0, of: server.baseURL, store: scratch.path(shape))
        let count = try #require(Int(try await node.line()))
        #expect(try await node.line() == "sent")
        let sent = try await withThrowingTaskGroup { group in
            for place in 1...count { group.addTask { try await isSent(shape, stoppedAt: place) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(sent.count { $0 == false } >= 5, "the places before the first byte")
        #expect(sent.count { $0 == nil } <= 3, "the call sends on the thread of its caller, or on another one")
    }

    /// Stops a process at that place of a call. Returns whether the request had left by then; `nil` if the call did not
    /// come to that place.
    private func isSent(_ shape: String, stoppedAt place: Int) async throws -> Bool? {
        let server = try Self.server()
        let arrivals: @Sendable () -> Int = { server.received.count { $0.path == "/stopped" } }
        let node = try StoppedNode(shape, at: place, of: server.baseURL, store: scratch.path("\(shape)-\(place)"))
        _ = try await node.line()
        let isStopped = Noted(false)
        let next = Task {
            let outcome = try await node.line()
            if !isStopped.value { node.goOn() }
            return outcome
        }
        isStopped.value = try await node.isStoppedOrOver()
        guard isStopped.value else {
            #expect(try await next.value == "sent")
            return nil
        }
        try await node.loseItsLifetime()
        let before = arrivals()
        node.resume()
        let outcome = try await next.value
        #expect(arrivals() == before, "place \(place) of \(shape)")
        #expect(outcome.hasPrefix(before == 1 ? "sent" : "failed"), "place \(place) of \(shape): \(outcome)")
        try node.findStore()
        #expect(try await node.line() == "sent", "place \(place) of \(shape): it goes on by itself")
        return before == 1
    }

    @Test("F4: a process that is stopped while its connection is opened sends nothing with a permit that it has lost")
    func connecting() async throws {
        let proxy = try SocksServer()
        let node = try StoppedNode("proxied", at: 0, of: proxy.url, store: scratch.path("proxied"))
        try await proxy.isAsked()
        node.suspend()
        try await node.isStopped()
        try await node.loseItsLifetime()
        node.resume()
        proxy.grant()
        let outcome = try await node.line()
        #expect(outcome.contains("ended before the request was sent"), "\(outcome)")
        #expect(proxy.requests.value.isEmpty)
        try node.findStore()
        #expect(try await node.line() == "sent", "it goes on by itself")
        #expect(proxy.requests.value == ["/last"])
    }
}

/// A process that stops itself in a call: a `FleetNode`. It ends with this object.
private final class StoppedNode: Sendable {
    private static let lifetime = Duration.seconds(2)

    private let process: Subprocess
    private let store: String

    /// Starts a process that stops at that place; at none if it is 0.
    init(_ shape: String, at place: Int, of server: String, store: String) throws {
        self.store = store
        process = try Subprocess(
            Subprocess.sibling("FleetNode"),
            ["stop", store, "\(Int(Self.lifetime / .milliseconds(1)))", shape, server, "\(place)"])
    }

    /// Returns the next line that it prints; an empty one when it has ended.
    func line() async throws -> String {
        try await Subprocess.waiting { [process] in
            var line = Data()
            while let byte = try process.output.read(upToCount: 1), byte.first != UInt8(ascii: "\n"), !byte.isEmpty {
                line += byte
            }
            return String(decoding: line, as: UTF8.self)
        }
    }

    /// Waits until it is stopped or has ended. Returns whether it is stopped.
    func isStoppedOrOver() async throws -> Bool {
        try await Subprocess.waiting { [process] in process.waitUntilSuspended() }
    }

    /// Waits until it is stopped.
    func isStopped() async throws {
        guard try await isStoppedOrOver() else { throw NotReady(what: "a process that is stopped") }
    }

    /// Waits for the end of its lifetime, while it is stopped, and takes the store away.
    func loseItsLifetime() async throws {
        try await Task.sleep(for: Self.lifetime + .milliseconds(100))
        try FileManager.default.moveItem(atPath: store, toPath: "\(store).away")
        // Where a folder was, so that it cannot create another.
        try Data().write(to: URL(fileURLWithPath: store))
    }

    /// Puts the store back, and has it call once more.
    func findStore() throws {
        // The process goes on, and may create a folder as soon as the file is gone: again, if it was quick.
        for _ in 0..<100 {
            // What could not be removed cannot be replaced either.
            try? FileManager.default.removeItem(atPath: store)
            if rename("\(store).away", store) == 0 { return goOn() }
        }
        throw NotReady(what: "the store")
    }

    /// Has it call once more, and end.
    func goOn() {
        process.input.write(Data("go on\n".utf8))
    }

    func suspend() { process.suspend() }
    func resume() { process.resume() }

    deinit { process.stop() }
}
#endif
