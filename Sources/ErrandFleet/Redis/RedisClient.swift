import Errand

/// A store's way to its server: commands and watches of any number of tasks, on one connection.
///
/// The thread does not own it, so it ends with its last user, and the thread with it.
final class RedisClient: Sendable {
    private let settings: RedisLoop.Settings
    private let inbox = RedisInbox()

    init(_ settings: RedisLoop.Settings) {
        self.settings = settings
    }

    deinit { inbox.close() }

    /// The address of the server.
    var address: RedisAddress { settings.address }

    /// Whether the thread is there.
    var isRunning: Bool { inbox.isRunning }

    /// Sends a command, and returns the answer, which is no error.
    func answer(
        to command: RedisCommand, about key: String? = nil, isRepeatable: Bool
    ) async throws(FleetStoreError) -> RedisValue {
        let request = RedisRequest(command, about: key, isRepeatable: isRepeatable)
        try post(.request(request))
        let time = SystemTime.system
        // The thread gives up a connection that is silent. But it may be inside of a lookup, which the system does not
        // end.
        let alarm = time.schedule(at: time.now.advanced(by: settings.timeout), for: .watch) { [settings] in
            request.answer.complete(.failure(.silence(of: settings.address, for: settings.timeout)))
        }
        defer { alarm.cancel() }
        return try await request.answer.value()
    }

    /// Passes on the record under a key now, and after each change, until that fails or the task is canceled.
    func follow(_ key: String, _ pass: @escaping RecordStream.Pass) async throws(FleetStoreError) {
        let watch = RedisWatch(of: key, pass: pass)
        try post(.begin(watch))
        defer { inbox.postEnd(of: watch) }
        try await watch.end.value()
    }

    private func post(_ event: RedisInbox.Event) throws(FleetStoreError) {
        try inbox.post(event) { [settings, inbox] wakeUp in
            var loop = RedisLoop(settings, inbox, wakeUp)
            loop.run()
        }
    }
}
