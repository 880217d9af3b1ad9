#if os(Linux)
import CCurl
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The buffer between libcurl's thread, which brings the bytes of a body, and their reader.
///
/// While the reader is slow, about `window` bytes wait here, and the connection is not read.
final class CurlBuffer: Sendable {
    private struct State {
        var bytes = Data()
        var isPaused = false
        var ending: Result<Void, ServiceError>?
        /// Completes when there is something new for the reader.
        var news: Latch?
    }

    /// What there is for the reader.
    enum Next: Sendable {
        /// These bytes. After `wasPaused`, libcurl may go on.
        case chunk(Data, wasPaused: Bool)
        case end(Result<Void, ServiceError>)
        /// Nothing until this has completed.
        case wait(Latch)
    }

    /// Large enough that the two threads seldom wait for each other, small enough to forget about.
    static let window = 1 << 20
    /// How many bytes make it worth while to wake a reader who wants the whole body.
    private static let worthReading = window / 8

    /// How much memory to allocate at first.
    private let capacity: Int
    private let isForWholeBody: Bool
    private let state: Lock<State>

    /// Creates the buffer of a stream, whose reader is told of all that comes by `flush()`.
    init() {
        // It gets its largest size at once: growing would move every byte a few times.
        capacity = Self.window
        isForWholeBody = false
        state = Lock(State())
    }

    /// Creates the buffer of a body of about that length, whose reader wants all of it. `isWorthReading` completes when
    /// a good part of it has come, or its end.
    init(expecting length: Int, telling isWorthReading: Latch) {
        capacity = min(max(0, length), Self.window)
        isForWholeBody = true
        state = Lock(State(news: isWorthReading))
    }

    // MARK: For libcurl's thread

    /// Takes bytes of the body, or pauses libcurl, which keeps them for later.
    func take(_ bytes: UnsafeRawBufferPointer) -> Int {
        let (taken, news) = state.withLock { state in
            guard state.bytes.count < Self.window else {
                state.isPaused = true
                return (Int(CCURL_PAUSE), nil as Latch?)
            }
            if state.bytes.isEmpty { state.bytes.reserveCapacity(capacity + bytes.count) }
            state.bytes.append(contentsOf: bytes)
            guard isForWholeBody, state.bytes.count >= Self.worthReading else { return (bytes.count, nil) }
            defer { state.news = nil }
            return (bytes.count, state.news)
        }
        news?.open()
        return taken
    }

    /// Wakes the reader if there is something to read. It is called once per turn of the loop, because libcurl brings
    /// bytes in small pieces.
    func flush() {
        let news = state.withLock { state in
            guard !state.bytes.isEmpty else { return nil as Latch? }
            defer { state.news = nil }
            return state.news
        }
        news?.open()
    }

    /// The transfer has ended; what is in the buffer is the rest.
    func end(_ ending: Result<Void, ServiceError>) {
        let news = state.withLock { state in
            state.ending = ending
            defer { state.news = nil }
            return state.news
        }
        news?.open()
    }

    // MARK: For the reader

    /// Takes what has come. Two readers share it: each gets the bytes that the other does not.
    func poll() -> Next {
        state.withLock { state in
            if !state.bytes.isEmpty {
                defer {
                    state.bytes = Data()
                    state.isPaused = false
                }
                return .chunk(state.bytes, wasPaused: state.isPaused)
            }
            if let ending = state.ending { return .end(ending) }
            let news = state.news ?? Latch()
            state.news = news
            return .wait(news)
        }
    }

    /// Returns the next bytes, as many as there are; `nil` at the end. Calls `resume` when libcurl may go on.
    func next(resuming resume: () -> Void) async throws(ServiceError) -> Data? {
        while true {
            switch poll() {
            case .chunk(let data, let wasPaused):
                if wasPaused { resume() }
                return data
            case .end(let ending):
                try ending.get()
                return nil
            case .wait(let news): try await news.opened(in: CallScope())
            }
        }
    }

    /// Waits until the transfer has ended, whatever it brings.
    func ended() async {
        while true {
            switch poll() {
            case .chunk: break
            case .end: return
            case .wait(let news): await news.opened()
            }
        }
    }
}
#endif
