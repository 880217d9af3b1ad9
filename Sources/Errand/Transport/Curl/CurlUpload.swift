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
///
/// If the stream has promised a length, the chunk that completes it is sent only after the stream has ended: a stream
/// that then brings more, or throws, has not given the server a whole body (D17).
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
        /// Completes when there is room for another chunk.
        var room: Latch?
        var task: Task<Void, Never>?
        var isCancelled = false

        /// Whether the only chunk left completes the promised length, but the stream has not ended yet.
        func isHeldBack(of length: Int?) -> Bool {
            ending == nil && pulled == length && chunks.count == 1
        }
    }

    /// What libcurl gets.
    private enum Filling {
        /// A number of bytes; their chunk, if they were its last; and the promise to complete, if there is room for
        /// another.
        case bytes(Int, used: Data?, room: Latch?)
        case code(Int)
    }

    /// As much as a piece of a file, so that one is read while the one before it is sent.
    private static let window = HTTPBody.pieceSize

    private let body: HTTPBody
    private let state = Lock(State())
    /// Completes when the stream is not read any more.
    private let isRead = Latch()

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

    /// Begins to read the stream as soon as an earlier send of the same call has stopped reading it. Calls `resume`
    /// when libcurl has paused and may go on.
    ///
    /// The exchange owns the task: it cancels the task when it completes. It does not wait for the end of the task,
    /// because the user's stream may ignore the cancellation: the next send of the call waits for that, within its
    /// timeout.
    func start(in context: TransportContext, resuming resume: @escaping @Sendable () -> Void) {
        guard !state.withLock({ $0.isCancelled }) else { return }
        let former = context.beginReading(until: isRead)
        let task = Task {
            await former?.opened()
            await self.pull(resuming: resume)
            isRead.open()
        }
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
        switch state.withLock({ take(into: room, &$0) }) {
        case .code(let code): return code
        case .bytes(let count, let used, let room):
            room?.open()
            // Released outside the lock: what frees the memory may be the user's code.
            withExtendedLifetime(used) {}
            return count
        }
    }

    private func take(into room: UnsafeMutableRawBufferPointer, _ state: inout State) -> Filling {
        if case .failure = state.ending { return .code(CCURL_ABORT) }
        guard let first = state.chunks.first, !state.isHeldBack(of: body.length) else {
            if state.ending != nil { return .code(0) }
            state.isPaused = true
            return .code(CCURL_PAUSE)
        }
        let count = min(room.count, first.count - state.sent)
        first.dropFirst(state.sent).copyBytes(to: room, count: count)
        state.sent += count
        state.waiting -= count
        let isUsed = state.sent == first.count
        if isUsed {
            state.chunks.removeFirst()
            state.sent = 0
        }
        guard state.waiting < Self.window else { return .bytes(count, used: isUsed ? first : nil, room: nil) }
        defer { state.room = nil }
        return .bytes(count, used: isUsed ? first : nil, room: state.room)
    }

    private func pull(resuming resume: @Sendable () -> Void) async {
        guard !state.withLock({ $0.isCancelled }) else { return }
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
            // What ends after it was canceled has ended because of that, which is no reason of its own.
            if !state.isCancelled { state.ending = ending }
            defer { state.isPaused = false }
            return state.isPaused
        }
        if wasPaused { resume() }
    }

    private func put(_ chunk: Data, resuming resume: @Sendable () -> Void) async throws(ServiceError) {
        let (wasPaused, isTooLong, room) = state.withLock { state -> (Bool, Bool, Latch?) in
            // What is too much is not counted: the chunk that completes the length is still held back then.
            if let length = body.length, state.pulled + chunk.count > length { return (false, true, nil) }
            state.pulled += chunk.count
            // An empty one would be taken for the end.
            if !chunk.isEmpty { state.chunks.append(chunk) }
            state.waiting += chunk.count
            // After the last chunk only the end is read, which makes room for nothing and must not wait for any.
            if state.waiting >= Self.window, state.pulled != body.length { state.room = Latch() }
            let isPaused = state.isPaused && !state.isHeldBack(of: body.length)
            if isPaused { state.isPaused = false }
            return (isPaused, false, state.room)
        }
        if isTooLong { throw .wrongLength(of: body) }
        if wasPaused { resume() }
        try await room?.opened(in: CallScope())
    }
}
#endif
