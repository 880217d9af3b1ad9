#if os(Linux)
import Errand
import ErrandSimulation
import ErrandTestSupport
import Foundation
import Testing

/// A process is stopped after it has taken a permit, until its lifetime is over. When it continues, it cannot reach the
/// store, so it has no permit that is valid: whatever it sends then, it sends with one that it has lost.
@Suite("A process that is stopped in the middle of a call", .timeLimit(.minutes(10)))
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
        // One after another: a busy machine must not end the lifetime of one that runs. Then they lose it together.
        var stops: [Stop] = []
        for place in 1...count {
            if let stop = try await stop(shape, at: place) { stops.append(stop) }
        }
        try await StoppedNode.lifetimePasses()
        var sent = 0
        for stop in stops where try await isSent(shape, stop) { sent += 1 }
        #expect(stops.count - sent >= 5, "the places before the first byte")
        #expect(count - stops.count <= 3, "the call sends on the thread of its caller, or on another one")
    }

    /// A process that is stopped at a place of a call.
    private struct Stop {
        let place: Int
        let node: StoppedNode
        let server: LoopbackServer
        /// What it prints next.
        let next: Task<String, any Error>

        var arrivals: Int { server.received.count { $0.path == "/stopped" } }
    }

    /// Stops a process at that place of a call; returns `nil` if the call did not come to that place.
    private func stop(_ shape: String, at place: Int) async throws -> Stop? {
        let server = try Self.server()
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
        return Stop(place: place, node: node, server: server, next: next)
    }

    /// Continues a process that has lost its permits. Returns whether its request had left before.
    private func isSent(_ shape: String, _ stop: Stop) async throws -> Bool {
        let (node, place, before) = (stop.node, stop.place, stop.arrivals)
        try node.loseStore()
        node.resume()
        let outcome = try await stop.next.value
        #expect(stop.arrivals == before, "place \(place) of \(shape)")
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
        try await StoppedNode.lifetimePasses()
        try node.loseStore()
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
    private static let lifetime = Duration.seconds(10)

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

    /// Waits until the lifetime of each process that is stopped now has passed.
    static func lifetimePasses() async throws {
        try await Task.sleep(for: lifetime + .milliseconds(100))
    }

    /// Takes the store away.
    func loseStore() throws {
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
