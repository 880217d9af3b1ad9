import Errand

/// What the thread of a store does: opens a connection when one is needed, sends what tasks have handed over, and
/// brings them what arrives.
///
/// - A request that was not sent when its connection ends is sent on the next one, and a read that was sent too, once.
///   A write that was sent may have been made, so it fails.
/// - What waits for a connection that cannot be opened fails with the reason. The next request tries again at once; a
///   watch, which is begun again as soon as it has failed, waits for a while that grows.
/// - The connection is closed when nothing has needed it for a while, and then the thread ends. After a failure it
///   stays for a while, because it remembers how long a watch has to wait.
struct RedisLoop {
    struct Settings: Sendable {
        let address: RedisAddress
        var credentials: RedisCredentials?
        var timeout = Duration.seconds(5)
        /// The PEM file of the authorities to trust instead of the system's.
        var certificateAuthorities: String?
        /// How long a connection is kept that nothing needs.
        var idleTime = Duration.seconds(30)
        /// How often the greeting is repeated.
        var checkInterval = Duration.seconds(10)
    }

    private struct Waiting {
        let request: RedisRequest
        /// Whether it was sent before.
        var isRepeated = false
        /// How many connections have ended while it waited.
        var ends = 0
    }

    /// The longest pause before a watch tries again to connect.
    private static let longestPause = Duration.seconds(5)
    private let settings: Settings
    private let inbox: RedisInbox
    private let wakeUp: WakeUpPipe
    private let time = SystemTime.system
    private var waiting: [Waiting] = []
    private var watches: [RedisWatch] = []
    private var connection: RedisConnection?
    private var lastUse: Instant
    /// The number of connections that have failed one after the other.
    private var failures = 0
    /// When a watch may connect again.
    private var nextAttempt: Instant?

    init(_ settings: Settings, _ inbox: RedisInbox, _ wakeUp: WakeUpPipe) {
        self.settings = settings
        self.inbox = inbox
        self.wakeUp = wakeUp
        lastUse = time.now
    }

    /// Runs until nothing needs it, or the store is closed.
    mutating func run() {
        while let events = inbox.take(mayEnd: mayEnd) {
            for event in events { apply(event) }
            if connection == nil { connectIfNeeded() }
            if let connection { work(on: connection) } else { waitWithoutConnection() }
        }
        // A task that still waits was canceled: it would have kept the store.
        connection = nil
    }

    private var mayEnd: Bool {
        connection == nil && waiting.isEmpty && watches.isEmpty && memoryEnd ?? .zero <= time.now
    }

    /// When the failures are forgotten, unless there is another one before.
    private var memoryEnd: Instant? { nextAttempt?.advanced(by: Self.longestPause * 2) }

    private mutating func apply(_ event: RedisInbox.Event) {
        switch event {
        case .request(let request): waiting.append(Waiting(request: request))
        case .begin(let watch): watches.append(watch)
        case .end(let watch):
            watches.removeAll { $0 === watch }
            connection?.end(watch, at: time.now)
        }
    }

    // MARK: Without a connection

    private mutating func connectIfNeeded() {
        waiting.removeAll { $0.request.answer.isComplete }
        let isDue = !watches.isEmpty && nextAttempt ?? .zero <= time.now
        guard !waiting.isEmpty || isDue else { return }
        do throws(FleetStoreError) {
            let stream = try opened()
            let now = time.now
            lastUse = now
            let exchange = RedisExchange(
                settings.address, credentials: settings.credentials, timeout: settings.timeout, at: now)
            connection = RedisConnection(stream, exchange, at: now)
        } catch {
            failWaiting(error)
        }
    }

    private func opened() throws(FleetStoreError) -> any RedisStream {
        let deadline = time.now.advanced(by: settings.timeout)
        #if os(Linux)
        if settings.address.isEncrypted {
            return try RedisCurlStream.connected(
                to: settings.address, trusting: settings.certificateAuthorities, until: deadline)
        }
        #endif
        return try RedisSocket.connected(to: settings.address, until: deadline, wakeUp) { inbox.isClosed }
    }

    private mutating func failWaiting(_ error: FleetStoreError) {
        noteFailure()
        let (requests, ended) = (waiting, watches)
        (waiting, watches) = ([], [])
        for waiting in requests { waiting.request.answer.complete(.failure(error)) }
        for watch in ended { watch.end.complete(.failure(error)) }
    }

    private mutating func noteFailure() {
        failures += 1
        let longest = min(Self.longestPause, .milliseconds(100) * (1 << min(failures - 1, 10)))
        // At random, so that nodes that have lost a server together do not come back together.
        let pause = longest / 2 + longest / 2 * (Double(time.random() >> 11) / Double(1 << 53))
        nextAttempt = time.now.advanced(by: pause)
    }

    private func waitWithoutConnection() {
        guard waiting.isEmpty, let instant = watches.isEmpty ? memoryEnd : nextAttempt else { return }
        let pause = time.now.duration(to: instant)
        if RedisPoll.wait(for: [(wakeUp.descriptor, false)], within: pause)[0] { wakeUp.lower() }
    }

    // MARK: With a connection

    private mutating func work(on connection: RedisConnection) {
        repeat {
            feed(connection)
            if let problem = connection.write(at: time.now) { return end(connection, lost(problem)) }
        } while !waiting.isEmpty && connection.exchange.hasRoom
        let pause = connection.hasMore ? .zero : nextInstant(of: connection).map { time.now.duration(to: $0) }
        let ready = RedisPoll.wait(
            for: [(wakeUp.descriptor, false), (connection.stream.descriptor, connection.isWriting)], within: pause)
        if ready[0] { wakeUp.lower() }
        // Before anything else is sent: the server may have closed the connection.
        if ready[1] || connection.hasMore { read(connection) }
        if self.connection != nil { checkTime(connection) }
    }

    /// Prepares what is to be sent.
    private mutating func feed(_ connection: RedisConnection) {
        guard connection.exchange.isReady else { return }
        let now = time.now
        let isNeeded = !watches.isEmpty || !waiting.isEmpty || connection.exchange.hasWatches
        if isNeeded, connection.exchange.lastGreeting.advanced(by: settings.checkInterval) <= now {
            connection.exchange.sendGreeting(at: now)
        }
        for watch in watches where !watch.end.isComplete { connection.exchange.begin(watch, at: now) }
        watches = []
        var count = 0
        while count < waiting.count, connection.exchange.hasRoom {
            let next = waiting[count]
            if !next.request.answer.isComplete {
                connection.exchange.send(next.request, isRepeated: next.isRepeated, at: now)
            }
            count += 1
        }
        waiting.removeFirst(count)
        if isNeeded || !connection.exchange.isIdle { lastUse = now }
    }

    private mutating func read(_ connection: RedisConnection) {
        do throws(RedisDamage) {
            for value in try connection.read() {
                carryOut(connection.exchange.receive(value, at: time.now))
                if let failure = connection.exchange.failure { return end(connection, failure) }
            }
        } catch {
            let words = "\(settings.address) has sent what is not Redis's protocol: \(error.reason)"
            return end(connection, FleetStoreError(.damaged, words))
        }
        if let problem = connection.problem { end(connection, lost(problem)) }
    }

    private func carryOut(_ effects: [RedisExchange.Effect]) {
        for effect in effects {
            switch effect {
            case .answer(let request, let outcome): request.answer.complete(outcome)
            case .pass(let watch, let record): if !watch.end.isComplete { watch.pass(record) }
            case .end(let watch, let error): watch.end.complete(.failure(error))
            }
        }
    }

    /// When there is something to do without being woken.
    private func nextInstant(of connection: RedisConnection) -> Instant? {
        let exchange = connection.exchange
        let check = exchange.hasWatches ? exchange.lastGreeting.advanced(by: settings.checkInterval) : nil
        let end = exchange.isIdle ? lastUse.advanced(by: settings.idleTime) : nil
        return [exchange.deadline, check, end].compactMap(\.self).min()
    }

    private mutating func checkTime(_ connection: RedisConnection) {
        let (exchange, now) = (connection.exchange, time.now)
        if let deadline = exchange.deadline, deadline <= now {
            end(connection, .silence(of: settings.address, for: settings.timeout))
        } else if exchange.isIdle, waiting.isEmpty, lastUse.advanced(by: settings.idleTime) <= now {
            (self.connection, failures, nextAttempt) = (nil, 0, nil)
        }
    }

    private func lost(_ problem: RedisConnection.Problem) -> FleetStoreError {
        let reason = problem.words.map { ": \($0)" } ?? ""
        return FleetStoreError(.unreachable, "the connection to \(settings.address) was closed\(reason)")
    }

    /// Ends the connection.
    private mutating func end(_ connection: RedisConnection, _ error: FleetStoreError) {
        self.connection = nil
        let (effects, repeatable) = connection.exchange.end(error)
        if connection.exchange.isReady {
            // One that is lost again and again, however ready it was, is a failure too.
            if connection.start.duration(to: time.now) > .seconds(2) { failures = 0 }
            noteFailure()
            for index in waiting.indices { waiting[index].ends += 1 }
            for waiting in waiting where waiting.ends > 1 { waiting.request.answer.complete(.failure(error)) }
            waiting = repeatable.map { Waiting(request: $0, isRepeated: true) } + waiting.filter { $0.ends <= 1 }
        } else {
            failWaiting(error)
        }
        carryOut(effects)
    }
}

extension FleetStoreError {
    /// The error of a request that was not answered in time.
    static func silence(of address: RedisAddress, for timeout: Duration) -> FleetStoreError {
        FleetStoreError(.unreachable, "\(address) has not answered in \(timeout.displayText)")
    }
}
