#if os(Linux)
import Errand
import ErrandTesting
import Foundation
import Testing

#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

@Suite("What a loopback server leaves behind", .timeLimit(.minutes(10))) struct LoopbackEndTests {
    /// Returns how many sockets of the process have that local port.
    private func sockets(of port: Int) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { CInt($0) }.count {
            descriptor in
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
            }
            return result == 0 && address.sin_family == AF_INET && UInt16(bigEndian: address.sin_port) == port
        }
    }

    @Test("when it ends it leaves no thread and no descriptor, whatever its connections were doing")
    func nothing() async throws {
        let server = try LoopbackServer()
        server.on(.get, "/silent", .silence.always)
        server.on(.get, "/late", LoopbackReply.status(200).after(.seconds(3600)).always)
        server.on(.get, "/slow", LoopbackReply.status(200).dripping(every: .seconds(3600)).always)
        server.on(.get, "/endless", .endless().always)
        // The server accepts it first, so it has accepted it when it has received the requests of the others.
        let idle = RawClient(port: server.port)
        let clients = ["/silent", "/late", "/slow", "/endless"].map { path in
            let client = RawClient(port: server.port)
            client.send(.get(path))
            return client
        }
        await server.received(atLeast: clients.count)
        #expect(try sockets(of: server.port) > 0)
        server.close()
        await server.closed()
        #expect(server.openConnections == 0)
        #expect(try sockets(of: server.port) == 0)
        #expect(idle.text() == "")
    }

    @Test("a server that is deallocated ends, even if its handlers held it until it was closed")
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
#endif
