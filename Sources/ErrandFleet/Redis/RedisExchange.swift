import Errand

/// What is said on one connection: commands, which are answered in their order, and messages about changes, which come
/// in between.
///
/// - First the greeting, and the choice of a database; then requests and watches.
/// - Redis answers in the order of the commands, so the oldest command without an answer gets the next one. `SUBSCRIBE`
///   and `UNSUBSCRIBE` are answered with a message that has their name, or with an error.
/// - A watch subscribes to the channel of its key, unless another one has, and then reads the record. What comes before
///   the record is older, and is left out; what comes after it is newer, and is passed on.
/// - The greeting is repeated now and then: it shows that a silent connection is alive, and that the server is still
///   the primary one.
///
/// A value: what arrives and the time go in, and effects come out, which the thread carries out.
struct RedisExchange: Sendable {
    /// Something for the thread to do.
    enum Effect: Sendable {
        case answer(RedisRequest, Result<RedisValue, FleetStoreError>)
        case pass(RedisWatch, FleetRecord?)
        case end(RedisWatch, FleetStoreError)
    }

    private enum Purpose: Sendable {
        case greeting, database
        case request(RedisRequest, isRepeated: Bool)
        case subscription(String)
        case unsubscription(String)
        /// The first read of a watch.
        case record(RedisWatch)
    }

    private struct Sent: Sendable {
        let purpose: Purpose
        let deadline: Instant
    }

    private struct Watched: Sendable {
        let watch: RedisWatch
        /// The revision that it knows, 0 for none; `nil` before its read is answered.
        var last: UInt64?
    }

    /// How much is prepared to be sent, in bytes: so much less may have been sent when a connection ends.
    private static let outputSize = 64 << 10

    private let address: RedisAddress
    private let credentials: RedisCredentials?
    private let timeout: Duration
    private var sent: [Sent] = []
    /// How many of `sent` are answered: removing the first of an array moves all others.
    private var answered = 0
    /// The commands of watches that wait for room.
    private var prepared: [(purpose: Purpose, command: RedisCommand)] = []
    private var watched: [String: [Watched]] = [:]
    private var output: [UInt8] = []
    private var written = 0

    /// Whether the server has accepted the user and the database.
    private(set) var isReady = false
    /// Why the connection has to end; `nil` while it is useful.
    private(set) var failure: FleetStoreError?
    /// When the greeting was sent last.
    private(set) var lastGreeting: Instant

    init(_ address: RedisAddress, credentials: RedisCredentials?, timeout: Duration, at now: Instant) {
        self.address = address
        self.credentials = credentials
        self.timeout = timeout
        lastGreeting = now
        send(RedisCommand.greeting(credentials), for: .greeting, at: now)
        if address.database != 0 { send(.select(address.database), for: .database, at: now) }
    }

    /// What is still to be written.
    var unwritten: ArraySlice<UInt8> { output[written...] }
    /// When the oldest command without an answer is given up; `nil` if there is none.
    var deadline: Instant? { answered < sent.count ? sent[answered].deadline : nil }
    var hasWatches: Bool { !watched.isEmpty }
    /// Whether nothing is sent, awaited or watched.
    var isIdle: Bool { isReady && answered == sent.count && watched.isEmpty && unwritten.isEmpty && prepared.isEmpty }
    /// Whether another request can be prepared.
    var hasRoom: Bool { isReady && failure == nil && prepared.isEmpty && unwritten.count < Self.outputSize }

    // MARK: What is sent

    /// Notes that so many bytes were written.
    mutating func noteWritten(_ count: Int, at now: Instant) {
        written += count
        if written == output.count {
            output.removeAll(keepingCapacity: written <= Self.outputSize)
            written = 0
        } else if written > Self.outputSize {
            output.removeFirst(written)
            written = 0
        }
        prepare(at: now)
    }

    /// Sends a request. Call it if there is room.
    mutating func send(_ request: RedisRequest, isRepeated: Bool, at now: Instant) {
        send(request.command, for: .request(request, isRepeated: isRepeated), at: now)
    }

    /// Sends the greeting again.
    mutating func sendGreeting(at now: Instant) {
        lastGreeting = now
        // Who the user is does not change.
        send(.greeting(nil), for: .greeting, at: now)
    }

    /// Begins a watch. Call it when the connection is ready.
    mutating func begin(_ watch: RedisWatch, at now: Instant) {
        let channel = RedisChange.channel(of: watch.key, in: address.database)
        if watched[channel] == nil { prepared.append((.subscription(channel), .subscribe(channel))) }
        watched[channel, default: []].append(Watched(watch: watch))
        prepared.append((.record(watch), .read(watch.key)))
        prepare(at: now)
    }

    /// Ends a watch, whose task has ended.
    mutating func end(_ watch: RedisWatch, at now: Instant) {
        let channel = RedisChange.channel(of: watch.key, in: address.database)
        guard var others = watched[channel], let index = others.firstIndex(where: { $0.watch === watch }) else {
            return
        }
        others.remove(at: index)
        watched[channel] = others.isEmpty ? nil : others
        guard others.isEmpty else { return }
        prepared.append((.unsubscription(channel), .unsubscribe(channel)))
        prepare(at: now)
    }

    private mutating func prepare(at now: Instant) {
        var count = 0
        while isReady, count < prepared.count, unwritten.count < Self.outputSize {
            send(prepared[count].command, for: prepared[count].purpose, at: now)
            count += 1
        }
        prepared.removeFirst(count)
    }

    private mutating func send(_ command: RedisCommand, for purpose: Purpose, at now: Instant) {
        output += command.bytes
        sent.append(Sent(purpose: purpose, deadline: now.advanced(by: timeout)))
    }

    // MARK: What arrives

    /// Takes a value that has arrived.
    mutating func receive(_ value: RedisValue, at now: Instant) -> [Effect] {
        defer { prepare(at: now) }
        if case .push(let elements) = value { return receiveMessage(elements) }
        guard let purpose = nextPurpose else {
            // A server that has too many clients says so unasked.
            guard case .error(let bytes) = value else { return fail("an answer to nothing") }
            failure = RedisRefusal(bytes, from: address, hiding: credentials?.password).error
            return []
        }
        takeFirst()
        var refusal: RedisRefusal?
        if case .error(let bytes) = value {
            refusal = RedisRefusal(bytes, from: address, hiding: credentials?.password, about: Self.key(of: purpose))
        }
        if let refusal, refusal.endsConnection { failure = refusal.error }
        switch purpose {
        case .greeting:
            if let problem = RedisGreeting.problem(value, at: address, hiding: credentials?.password) {
                failure = problem
            } else if address.database == 0 {
                isReady = true
            }
        case .database:
            if let refusal {
                failure =
                    refusal.error.kind == .other ? FleetStoreError(.invalid, refusal.error.message) : refusal.error
            } else {
                isReady = true
            }
        case .request(let request, _):
            return [.answer(request, refusal.map { .failure($0.error) } ?? .success(value))]
        case .subscription(let channel):
            guard let refusal else { return fail("another answer than that to SUBSCRIBE") }
            return (watched.removeValue(forKey: channel) ?? []).map { .end($0.watch, refusal.error) }
        case .unsubscription:
            guard refusal != nil else { return fail("another answer than that to UNSUBSCRIBE") }
        case .record(let watch): return receiveRecord(value, refusal, for: watch)
        }
        return []
    }

    private static func key(of purpose: Purpose) -> String? {
        switch purpose {
        case .request(let request, _): request.key
        case .record(let watch): watch.key
        case .greeting, .database, .subscription, .unsubscription: nil
        }
    }

    private mutating func receiveRecord(
        _ value: RedisValue, _ refusal: RedisRefusal?, for watch: RedisWatch
    ) -> [Effect] {
        let channel = RedisChange.channel(of: watch.key, in: address.database)
        guard let index = watched[channel]?.firstIndex(where: { $0.watch === watch }) else { return [] }
        do throws(FleetStoreError) {
            if let refusal { throw refusal.error }
            let record = try RedisRecord.read(value, of: watch.key)
            watched[channel]?[index].last = record?.revision.number ?? 0
            return [.pass(watch, record)]
        } catch {
            return remove(from: channel, error) { $0.watch === watch }
        }
    }

    private mutating func receiveMessage(_ elements: [RedisValue]) -> [Effect] {
        guard let kind = elements.first?.text, elements.count >= 2 else { return fail("a message without a kind") }
        // What it was not asked for, such as news about its caches, is of no interest.
        guard ["message", "subscribe", "unsubscribe"].contains(kind) else { return [] }
        guard elements.count == 3, let channel = elements[1].text else { return fail("a message without a channel") }
        switch (kind, nextPurpose) {
        case ("message", _):
            guard let bytes = elements[2].bytes else { return fail("a message without a text") }
            return receiveChange(bytes, from: channel)
        case ("subscribe", .subscription(channel)), ("unsubscribe", .unsubscription(channel)):
            takeFirst()
            return []
        default: return fail("an answer to nothing")
        }
    }

    private mutating func receiveChange(_ message: [UInt8], from channel: String) -> [Effect] {
        guard let watches = watched[channel] else { return [] }
        guard let change = RedisChange(message) else {
            return remove(
                from: channel, FleetStoreError(.damaged, "a message in the channel \(channel) is none of this store")
            ) { $0.last != nil }
        }
        let number = change.revision.number
        var effects: [Effect] = []
        for (index, watch) in watches.enumerated() {
            // What comes before the record is in the record.
            guard let last = watch.last, last < number else { continue }
            watched[channel]?[index].last = number
            effects.append(.pass(watch.watch, change.record))
        }
        let words = "the revisions of \(address) have gone back, as after a backup was put back"
        return effects + remove(from: channel, FleetStoreError(.other, words)) { $0.last.map { $0 > number } ?? false }
    }

    /// Ends the watches of a channel that match.
    private mutating func remove(
        from channel: String, _ error: FleetStoreError, where matches: (Watched) -> Bool
    ) -> [Effect] {
        let ended = (watched[channel] ?? []).filter(matches)
        guard !ended.isEmpty else { return [] }
        watched[channel]?.removeAll(where: matches)
        if watched[channel]?.isEmpty == true {
            watched[channel] = nil
            prepared.append((.unsubscription(channel), .unsubscribe(channel)))
        }
        return ended.map { .end($0.watch, error) }
    }

    private var nextPurpose: Purpose? { answered < sent.count ? sent[answered].purpose : nil }

    private mutating func takeFirst() {
        answered += 1
        guard 2 * answered >= sent.count else { return }
        sent.removeFirst(answered)
        answered = 0
    }

    private mutating func fail(_ what: String) -> [Effect] {
        failure = FleetStoreError(.damaged, "\(address) has sent \(what)")
        return []
    }

    // MARK: The end

    /// Ends the connection. Returns what is to be done, and the requests that may be sent on another one.
    mutating func end(_ error: FleetStoreError) -> (effects: [Effect], repeatable: [RedisRequest]) {
        var (effects, repeatable): ([Effect], [RedisRequest]) = ([], [])
        for sent in sent[answered...] {
            guard case .request(let request, let isRepeated) = sent.purpose else { continue }
            if request.isRepeatable, !isRepeated, error.kind == .unreachable {
                repeatable.append(request)
            } else {
                effects.append(.answer(request, .failure(error)))
            }
        }
        for watch in watched.values.joined() { effects.append(.end(watch.watch, error)) }
        (sent, answered, watched, prepared) = ([], 0, [:], [])
        return (effects, repeatable)
    }
}
