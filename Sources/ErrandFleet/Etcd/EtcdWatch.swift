import Errand

/// One watch of a record: a read, then the events after it.
///
/// - The read says the revision of the whole store, and the watch begins with the next: nothing lies between.
/// - Events come in order. What is older than what was passed on is left out.
/// - A watch that ends is followed by another read: the member was stopped, or the cluster has compacted what the watch
///   has missed (`compact_revision`).
/// - A watch ends when its member is given up: with the first request that it does not answer, whoever has sent it.
struct EtcdWatch: Sendable {
    /// A watch that ends within this time has ended at once.
    private static let shortest = Duration.seconds(2)
    /// The pauses before the next watch, if one after the other ends at once.
    private static let pauses: [Duration] = [.milliseconds(100), .milliseconds(500), .seconds(2), .seconds(5)]

    /// Why a watch is over.
    private enum End: Sendable {
        case again
        case failed(FleetStoreError)
    }

    private struct Passed: Sendable {
        /// The record that was passed on last; the outer `nil` before the first.
        var record: FleetRecord??
        /// The store's revision up to which all is known.
        var revision: UInt64 = 0
        /// Whether the watch of now has begun.
        var isOpen = false
        /// The index of its member; `nil` before its response.
        var member: Int?
    }

    private final class State: Sendable {
        let passed = Lock(Passed())
    }

    private let key: String
    private let gateway: EtcdGateway
    private let timeout: Duration
    private let pass: RecordStream.Pass
    private let state = State()

    init(of key: String, by gateway: EtcdGateway, within timeout: Duration, pass: @escaping RecordStream.Pass) {
        self.key = key
        self.gateway = gateway
        self.timeout = timeout
        self.pass = pass
    }

    /// Passes on the record's versions until the task is canceled, or the cluster cannot be reached.
    func run() async throws(FleetStoreError) {
        var failures = 0
        while true {
            if Task.isCancelled { throw .cancelled }
            let (record, revision) = try await gateway.read(key)
            guard revision >= state.passed.withLock({ $0.revision }) else {
                throw FleetStoreError(.other, "the revisions of etcd have gone back, as after a backup was put back")
            }
            note(record, at: revision)
            let start = SystemTime.system.now
            try await follow(from: revision + 1)
            let isShort = start.duration(to: SystemTime.system.now) < Self.shortest
            failures = isShort ? failures + 1 : 0
            try await sleep(for: Self.pauses[min(failures, Self.pauses.count - 1)])
        }
    }

    /// Passes on a version, unless it is known.
    private func note(_ record: FleetRecord?, at revision: UInt64) {
        state.passed.withLock { passed in
            guard revision > passed.revision || passed.record == nil else { return }
            passed.revision = max(revision, passed.revision)
            guard passed.record != .some(record) else { return }
            passed.record = .some(record)
            // Under the lock, so that versions stay in order. The stream only keeps what it is given.
            pass(record)
        }
    }

    /// Reads events until the watch is over. Throws if another would be refused.
    private func follow(from revision: UInt64) async throws(FleetStoreError) {
        state.passed.withLock { ($0.isOpen, $0.member) = (false, nil) }
        let givenUp = gateway.givenUpMembers
        let end = await withTaskGroup(of: End?.self) { group in
            group.addTask { await readEvents(from: revision) }
            group.addTask {
                for await member in givenUp where member == state.passed.withLock({ $0.member }) { return .again }
                return .failed(.cancelled)
            }
            group.addTask { await expectBeginning() }
            defer { group.cancelAll() }
            for await case let end? in group { return end }
            return .again
        }
        if case .failed(let error) = end { throw error }
    }

    private func readEvents(from revision: UInt64) async -> End {
        let stream: StreamedResponse
        do throws(FleetStoreError) {
            let (opened, member) = try await gateway.watch(key, from: revision)
            stream = opened
            state.passed.withLock { $0.member = member }
        } catch {
            // The next read finds another member, or fails.
            return error.kind == .unreachable ? .again : .failed(error)
        }
        var lines = stream.decoded(EtcdWatchLine.self).makeAsyncIterator()
        while true {
            let line: EtcdWatchLine?
            do throws(ServiceError) {
                line = try await lines.next()
            } catch {
                if case .cancelled = error { return .failed(.cancelled) }
                return .again
            }
            guard let result = line?.result else { return .again }
            if result.canceled == true { return await end(because: result) }
            if result.created == true { state.passed.withLock { $0.isOpen = true } }
            for event in result.events ?? [] {
                guard let pair = event.kv, let revision = pair.modRevision?.value else { continue }
                note(event.type == "DELETE" ? nil : pair.record(), at: revision)
            }
        }
    }

    private func end(because result: EtcdWatchLine.Result) async -> End {
        // Compacted: what the watch has missed is not there any more.
        guard result.compactRevision == nil, let reason = result.cancelReason else { return .again }
        switch EtcdRefusal(reason: reason) {
        case .unavailable: return .again
        case .final(let error): return .failed(error)
        case .token:
            do throws(FleetStoreError) {
                try await gateway.replaceToken()
                return .again
            } catch {
                return .failed(error)
            }
        }
    }

    /// Gives the member up if it has not begun the watch in time.
    private func expectBeginning() async -> End? {
        do throws(FleetStoreError) {
            try await sleep(for: timeout)
        } catch {
            return .failed(error)
        }
        if state.passed.withLock({ $0.isOpen }) { return nil }
        gateway.abandonMember()
        return .again
    }

    private func sleep(for pause: Duration) async throws(FleetStoreError) {
        let time = SystemTime.system
        try await time.sleep(until: time.now.advanced(by: pause), in: StopScope<FleetStoreError>())
    }
}
