#if os(Linux)
import Errand
import ErrandTesting
import Foundation
import Testing

@Suite("What a loopback server leaves behind", .timeLimit(.minutes(1))) struct LoopbackEndTests {
    /// What the process has open that belongs to that port, by the system's own table of sockets.
    private func sockets(of port: Int) throws -> Int {
        let address = "0100007F:" + String(port, radix: 16, uppercase: true).leftPadded(to: 4)
        let lines = try String(contentsOfFile: "/proc/self/net/tcp", encoding: .utf8).split(separator: "\n")
        let mine = Set(lines.map { $0.split(separator: " ") }.filter { $0.count > 9 && $0[1] == address }.map { $0[9] })
        let folder = "/proc/self/fd"
        return try FileManager.default.contentsOfDirectory(atPath: folder).count { name in
            // One that another test has closed meanwhile is none of ours.
            guard let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)") else {
                return false
            }
            return mine.contains { link == "socket:[\($0)]" }
        }
    }

    @Test("after its end there is neither a thread nor a descriptor, whatever its connections were doing")
    func nothing() async throws {
        let server = try LoopbackServer()
        server.on(.get, "/silent", .silence.always)
        server.on(.get, "/late", LoopbackReply.status(200).after(.seconds(3600)).always)
        server.on(.get, "/slow", LoopbackReply.status(200).dripping(every: .seconds(3600)).always)
        server.on(.get, "/endless", .endless().always)
        let clients = ["/silent", "/late", "/slow", "/endless"].map { path in
            let client = RawClient(port: server.port)
            client.send(.get(path))
            return client
        }
        let idle = RawClient(port: server.port)
        await server.received(atLeast: clients.count)
        #expect(try sockets(of: server.port) > 0)
        server.close()
        await server.closed()
        #expect(server.openConnections == 0)
        #expect(try sockets(of: server.port) == 0)
        #expect(idle.text() == "")
    }

    @Test("a server that nobody holds ends by itself, even if its handlers held it until it was closed")
    func dropped() async throws {
        weak var weakly: LoopbackServer?
        do {
            let server = try LoopbackServer()
            weakly = server
            server.on(.get, "/x") { [server] _ in .status(server.port > 0 ? 200 : 500) }
            server.close()
        }
        #expect(weakly == nil)
    }

    @Test("a server that never listened ends too")
    func neverListened() async throws {
        let server = try LoopbackServer(isListening: false)
        server.close()
        await server.closed()
        #expect(try sockets(of: server.port) == 0)
    }
}

extension String {
    fileprivate func leftPadded(to width: Int) -> String {
        String(repeating: "0", count: max(0, width - count)) + self
    }
}
#endif
