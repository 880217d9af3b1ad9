/// How much a receiver takes from programs on this machine, any of which can connect to it.
struct ReceiverLimits: Sendable {
    /// A browser has a few; when there is another one, the oldest is closed.
    var connections = 16
    /// The bytes in the head of a request. Cookies of all ports of this machine come along.
    var head = 64 << 10
    /// How long a connection may take for its request. Browsers open some ahead of need, which stay silent.
    var connectionTimeout = Duration.seconds(10)
    /// How long the browser waits for the result of the sign-in, which its page tells.
    var result = Duration.seconds(10)
    /// How long the browser may take to read the page and to close the connection.
    var farewell = Duration.milliseconds(500)
}

/// Listens on this machine for the redirect of one sign-in (RFC 8252, 7.3).
///
/// A thread of its own serves all connections, since they and the terminal may be silent for minutes. It ends with the
/// answer or when the wait for it is canceled, and closes all sockets before the wait returns. If the page is to tell
/// how the sign-in has ended, the wait returns before that, and only the connection of the answer stays.
final class LoopbackReceiver: Sendable {
    /// The address at which it listens.
    let redirectURI: String
    private let address: ReceiverAddress
    /// Those of a thread that serves them are its own, so that they are closed when it ends.
    private let listeners: Lock<[ReceiverSocket]>
    private let input: CInt?
    private let wakeUp: WakeUpPipe
    private let limits: ReceiverLimits

    /// Listens at that address.
    ///
    /// - Parameters:
    ///   - redirectURI: The registered address.
    ///   - input: A descriptor whose lines may be the answer.
    ///   - limits: How much it takes.
    init(_ redirectURI: String, input: CInt? = nil, limits: ReceiverLimits = .init()) throws(ServiceError) {
        let address = try ReceiverAddress(redirectURI)
        guard let (listeners, port) = ReceiverSocket.listening(at: address.hosts, port: address.port),
            let wakeUp = WakeUpPipe()
        else {
            let place = address.port.map { "port \($0) of \(address.host)" } ?? "\(address.host)"
            let words = "nothing can listen at \(place), to receive the redirect of the sign-in"
            throw .transport(TransportFailure(.other, words, mayHaveReachedServer: false))
        }
        self.address = address.at(port: port)
        self.redirectURI = self.address.text
        self.listeners = Lock(listeners)
        self.wakeUp = wakeUp
        self.input = input
        self.limits = limits
    }

    /// Waits for a request with an answer to the sign-in, and returns its address. Call it once.
    ///
    /// - Parameters:
    ///   - isAnswer: Returns whether an address has the answer.
    ///   - begin: Runs first, on the thread of the receiver.
    ///   - page: How the sign-in ends, for the page; if `nil`, the page does not wait for that.
    ///   - tell: Shows a message to whoever pastes lines.
    func answer(
        isAnswer: @escaping @Sendable (String) -> Bool, telling page: SignInOutcome? = nil,
        begin: @escaping @Sendable () -> Void = {},
        tell: @escaping @Sendable (String) -> Void = { StandardError.print($0) }
    ) async throws(ServiceError) -> String {
        let (result, ended) = (Promise<String, ServiceError>(), Latch())
        let loop = ReceiverLoop(
            address: address, input: input, wakeUp: wakeUp, limits: limits, isAnswer: isAnswer, outcome: page,
            find: { if page != nil { result.complete(.success($0)) } }, tell: tell)
        let hasThread = SystemThread.start { [self] in
            begin()
            var sockets = listeners.withLock { listeners in
                defer { listeners = [] }
                return listeners
            }
            let answer = loop.run(&sockets)
            sockets = []
            result.complete(answer.map { .success($0) } ?? .failure(.cancelled))
            ended.open()
        }
        guard hasThread else {
            throw .transport(TransportFailure(.outOfResources, "the system has no thread left"))
        }
        let found: Result<String, ServiceError>
        do throws(ServiceError) {
            found = .success(try await result.value())
        } catch {
            found = .failure(error)
            wakeUp.raise()
        }
        if let page, case .success = found {
            // The thread stays for the page, and so does what wakes it.
            page.waits(for: ended) { [wakeUp] in wakeUp.raise() }
        } else {
            // The thread is awake now, and waits for nobody.
            await ended.opened()
        }
        return try found.get()
    }
}

/// The address of a receiver: plain http on this machine.
struct ReceiverAddress: Sendable {
    let host: String
    /// The port; `nil` if the system chooses it.
    let port: Int?
    let path: String

    private init(host: String, port: Int?, path: String) {
        self.host = host
        self.port = port
        self.path = path
    }

    init(_ text: String) throws(ServiceError) {
        let url = try HTTPURL(text)
        guard url.origin.scheme == "http", Self.loopback[url.origin.host] != nil, url.query == nil, !text.contains("#")
        else {
            throw .badURL(
                text, "a receiver listens at http://127.0.0.1, http://[::1] or http://localhost, without a query")
        }
        // Port 80 belongs to the system, so it stands for none.
        self.init(host: url.origin.host, port: url.origin.port == 80 ? nil : url.origin.port, path: url.path)
    }

    func at(port: Int) -> ReceiverAddress { ReceiverAddress(host: host, port: port, path: path) }

    private static let loopback: [String: [ReceiverSocket.Family]] = [
        "127.0.0.1": [.four], "[::1]": [.six], "localhost": [.four, .six],
    ]

    /// The addresses of the host; for a name, a browser may choose either.
    var hosts: [ReceiverSocket.Family] { Self.loopback[host] ?? [] }

    /// What the header `Host` has to be: a page of another site that has made its name point here has another one.
    var authority: String { "\(host):\(port ?? 80)" }

    var text: String { "http://\(authority)\(path)" }
}
