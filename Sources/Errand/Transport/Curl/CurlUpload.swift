#if os(Linux)
import CCurl
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The buffer between a task, which reads the stream of a request's body, and libcurl's thread, which sends it.
///
/// While the server is slow, at most `window` bytes and one chunk wait here, and the stream is not read.
final class CurlUpload: Sendable {
    private struct State {
        /// The chunks that wait, and how much of the first has been sent.
        var chunks: [Data] = []
        var sent = 0
        /// How many bytes wait, and how many were read in all.
        var waiting = 0
        var pulled = 0
        var ending: Result<Void, ServiceError>?
        /// Whether libcurl waits for bytes.
        var isPaused = false
        /// Lands when there is room for another chunk.
        var room: Flight<Void, ServiceError>?
        var task: Task<Void, Never>?
        var isCancelled = false
    }

    /// As much as a piece of a file, so that one is read while the one before it is sent.
    private static let window = HTTPBody.pieceSize

    private let body: HTTPBody
    private let state = Lock(State())

    init(_ body: HTTPBody) {
        self.body = body
    }

    /// Why the stream could not be sent; `nil` if it could.
    var failure: ServiceError? {
        guard case .failure(let error) = state.withLock({ $0.ending }) else { return nil }
        return error
    }

    /// The number of bytes that wait for libcurl.
    var waiting: Int { state.withLock { $0.waiting } }

    /// Begins to read the stream. Calls `resume` when libcurl has paused and may go on.
    ///
    /// The exchange owns the task: it cancels the task when it lands.
    func start(resuming resume: @escaping @Sendable () -> Void) {
        guard !state.withLock({ $0.isCancelled }) else { return }
        let task = Task { await self.pull(resuming: resume) }
        let isCancelled = state.withLock { state in
            state.task = task
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    /// Stops reading the stream, or keeps it from being read at all.
    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }

    /// Fills libcurl's buffer with what there is, and returns how much that is: 0 at the end.
    func fill(_ room: UnsafeMutableRawBufferPointer) -> Int {
        let (count, waiting) = state.withLock { state -> (Int, Flight<Void, ServiceError>?) in
            guard let first = state.chunks.first else {
                switch state.ending {
                case .success: return (0, nil)
                case .failure: return (CCURL_ABORT, nil)
                case nil:
                    state.isPaused = true
                    return (CCURL_PAUSE, nil)
                }
            }
            let count = min(room.count, first.count - state.sent)
            first.dropFirst(state.sent).copyBytes(to: room, count: count)
            state.sent += count
            state.waiting -= count
            if state.sent == first.count {
                state.chunks.removeFirst()
                state.sent = 0
            }
            guard state.waiting < Self.window else { return (count, nil) }
            defer { state.room = nil }
            return (count, state.room)
        }
        waiting?.land(.success(()))
        return count
    }

    private func pull(resuming resume: @Sendable () -> Void) async {
        let ending: Result<Void, ServiceError>
        do {
            for try await chunk in body.chunks {
                try await put(chunk, resuming: resume)
            }
            let pulled = state.withLock { $0.pulled }
            ending = pulled == body.length ?? pulled ? .success(()) : .failure(.wrongLength(of: body))
        } catch {
            ending = .failure(ServiceError(error) { .streamFailed(foreignName(of: $0)) })
        }
        let wasPaused = state.withLock { state in
            // What ends after it was cancelled has ended because of that, which is no reason of its own.
            if !state.isCancelled { state.ending = ending }
            defer { state.isPaused = false }
            return state.isPaused
        }
        if wasPaused { resume() }
    }

    private func put(_ chunk: Data, resuming resume: @Sendable () -> Void) async throws(ServiceError) {
        let (wasPaused, isTooLong, room) = state.withLock { state -> (Bool, Bool, Flight<Void, ServiceError>?) in
            state.pulled += chunk.count
            if let length = body.length, state.pulled > length { return (false, true, nil) }
            // An empty one would be taken for the end.
            if !chunk.isEmpty { state.chunks.append(chunk) }
            state.waiting += chunk.count
            if state.waiting >= Self.window { state.room = Flight() }
            defer { state.isPaused = false }
            return (state.isPaused, false, state.room)
        }
        if isTooLong { throw .wrongLength(of: body) }
        if wasPaused { resume() }
        try await room?.value()
    }
}

extension ServiceError {
    fileprivate static func streamFailed(_ name: String) -> ServiceError {
        .transport(TransportFailure(.middleware, "the stream of the request's body threw \(name)"))
    }
}
#endif
