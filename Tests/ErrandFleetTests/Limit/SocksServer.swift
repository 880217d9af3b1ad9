#if os(Linux)
@testable import Errand
@testable import ErrandSimulation
import ErrandTestSupport
import Foundation

/// A proxy of the SOCKS protocol, version 5, which opens connections when it is told to, and responds to the requests
/// on them itself.
final class SocksServer: Sendable {
    /// The paths of the requests that were sent through it.
    let requests = Noted<[String]>([])
    let url: String
    private let listener: LoopbackSocket
    private let asked = Latch()
    private let granted = DispatchSemaphore(value: 0)

    init() throws {
        guard let (listener, port) = LoopbackSocket.bound(counting: LoopbackTraffic()), listener.listens() else {
            throw NotReady(what: "a port for a proxy")
        }
        self.listener = listener
        url = "socks5://127.0.0.1:\(port)"
        Thread.detachNewThread { [listener, requests, asked, granted] in
            while let socket = listener.accepted() {
                Thread.detachNewThread { Self.serve(socket, requests, asked, granted) }
            }
        }
    }

    private static func serve(
        _ socket: LoopbackSocket, _ requests: Noted<[String]>, _ asked: Latch,
        _ granted: DispatchSemaphore
    ) {
        // The methods that the client knows. The answer is that it needs no password.
        guard !socket.read().isEmpty, socket.write(Data([5, 0])) else { return }
        // The address to connect to.
        guard !socket.read().isEmpty else { return }
        asked.open()
        granted.wait()
        granted.signal()
        guard socket.write(Data([5, 0, 0, 1, 127, 0, 0, 1, 0, 1])) else { return }
        var reader = LoopbackReader(socket, connection: 1)
        while let request = reader.nextHead() {
            requests.update { $0.append(request.path) }
            guard socket.write(LoopbackReply.head(204)) else { return }
        }
    }

    /// Waits until a client wants to connect.
    func isAsked() async throws { await asked.opened() }

    /// Lets all connections be opened from now on.
    func grant() { granted.signal() }

    deinit { listener.shut() }
}
#endif
