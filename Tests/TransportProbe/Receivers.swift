#if os(Linux)
import Errand
import ErrandSimulation
import Glibc

/// Counts the descriptors and ports that sign-ins with a receiver leave behind.
struct Receivers {
    let count: Int
    /// How they end: `cancelled`, `late` at their limit, or `failed` before the page is open.
    let ending: String

    /// The receivers that listen, by the address of their page.
    private actor Pages {
        private(set) var ports: [UInt16] = []

        func add(_ address: String) {
            let digits = address.split(separator: "127.0.0.1%3A").dropFirst().first?.prefix { $0.isNumber }
            ports += digits.flatMap { UInt16($0) }.map { [$0] } ?? []
        }
    }

    func report() async throws {
        // The first round creates what stays permanently.
        _ = try await round(1)
        let before = try await Census.settled()
        let (during, listening) = try await round(count)
        let after = try await Census.settled(atMost: before)
        for census in [before, during, after] { print(census.descriptors) }
        print(listening)
    }

    /// Returns the census while all receivers wait, and how many sockets listen when all sign-ins have ended.
    private func round(_ count: Int) async throws -> (Census, Int) {
        let metadata = OAuth.ServerMetadata(
            authorizationEndpoint: ending == "failed" ? nil : "https://login.test/authorize",
            tokenEndpoint: "https://login.test/token")
        let clock = TestClock { _ in }
        let oauth = OAuth(metadata, client: .public(id: "app")) { $0.time = clock }
        let pages = Pages()
        let opened = AsyncStream<String>.makeStream()
        let tasks = (0..<count).map { _ in
            Task {
                let browser = SystemBrowser { _ in
                } open: { address in
                    opened.continuation.yield(address)
                }
                // It always fails.
                _ = try? await oauth.signIn(using: browser, within: .seconds(90))
            }
        }
        var census = try Census()
        var connections: [CInt] = []
        if ending != "failed" {
            var addresses = opened.stream.makeAsyncIterator()
            for _ in 0..<count {
                if let address = await addresses.next() { await pages.add(address) }
            }
            // Every second one has connections, of which one has begun a request.
            for (index, port) in await pages.ports.enumerated() where index.isMultiple(of: 2) {
                for _ in 0..<3 { if let connection = connected(port) { connections.append(connection) } }
                if let last = connections.last { _ = send(last, "GET /?", 6, CInt(MSG_NOSIGNAL)) }
            }
            census = try Census()
        }
        if ending == "cancelled" { for task in tasks { task.cancel() } }
        if ending == "late" { await clock.advance(by: .seconds(90)) }
        for task in tasks { _ = await task.value }
        for connection in connections { close(connection) }
        return (census, Self.listening)
    }

    /// How many sockets of the process listen. That something listens at a port of theirs would not say who.
    private static var listening: Int {
        (0..<CInt(4096)).count { descriptor in
            var (isListening, size) = (CInt(0), socklen_t(MemoryLayout<CInt>.size))
            return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0 && isListening == 1
        }
    }

    /// Connects to a port of this machine; `nil` if nothing listens there.
    private func connected(_ port: UInt16) -> CInt? {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if result == 0 { return descriptor }
        close(descriptor)
        return nil
    }
}
#endif
