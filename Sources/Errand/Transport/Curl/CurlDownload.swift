#if os(Linux)
import CCurl
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The buffer between libcurl's thread, which brings the body of a streamed response, and its reader.
///
/// While the reader is slow, about `window` bytes wait here, and the connection is not read.
final class CurlDownload: Sendable {
    private struct State {
        var buffer = Data()
        var isPaused = false
        var ending: Result<Void, ServiceError>?
        /// Lands when there is something new for the reader.
        var news: Flight<Void, ServiceError>?
    }

    /// Large enough that the two threads seldom wait for each other, small enough to forget about.
    private static let window = 1 << 20

    /// Lands when the head of the response is complete, or the transfer has failed before.
    let head = Flight<HTTPResponse, ServiceError>()
    private let giveBack: @Sendable (CurlExchange.Handle) -> Void
    private let state = Lock(State())

    /// Creates a buffer that passes the handle to `giveBack` when the transfer has ended.
    init(givingBack giveBack: @escaping @Sendable (CurlExchange.Handle) -> Void) {
        self.giveBack = giveBack
    }

    // MARK: For libcurl's thread

    /// The head has come.
    func begin(_ handle: CurlExchange.Handle) {
        head.land(Result { () throws(ServiceError) in try CurlAnswer(handle).response(with: .empty) })
    }

    /// Takes bytes of the body, or pauses libcurl, which keeps them for later.
    func take(_ bytes: UnsafeRawBufferPointer) -> Int {
        state.withLock { state in
            guard state.buffer.count < Self.window else {
                state.isPaused = true
                return CCURL_PAUSE
            }
            // It gets its largest size at once: growing would move every byte a few times.
            if state.buffer.isEmpty { state.buffer.reserveCapacity(Self.window + bytes.count) }
            state.buffer.append(contentsOf: bytes)
            return bytes.count
        }
    }

    /// Wakes the reader if there is something to read. It is called once per turn of the loop, because libcurl brings
    /// bytes in small pieces.
    func flush() {
        let news = state.withLock { state in
            guard !state.buffer.isEmpty else { return nil as Flight<Void, ServiceError>? }
            defer { state.news = nil }
            return state.news
        }
        news?.land(.success(()))
    }

    /// The transfer has ended; what is in the buffer is the rest. `reason` is the failure of the request's own stream.
    func end(_ result: ccurl_code?, of handle: CurlExchange.Handle, because reason: ServiceError?) {
        let ending: Result<Void, ServiceError> =
            switch result {
            case CCURLE_OK: .success(())
            case nil: .failure(CurlFailure(nil, of: handle).error)
            case let code?: .failure(reason ?? CurlFailure(code, of: handle).error)
            }
        // The first landing of the head counts: these do nothing if it was complete before.
        if case .failure(let error) = ending { head.land(.failure(error)) } else { begin(handle) }
        giveBack(handle)
        let news = state.withLock { state in
            state.ending = ending
            defer { state.news = nil }
            return state.news
        }
        news?.land(.success(()))
    }

    // MARK: For the reader

    private enum Next {
        case chunk(Data, wasPaused: Bool)
        case end(Result<Void, ServiceError>)
        case wait(Flight<Void, ServiceError>)
    }

    /// Returns the next bytes, as many as there are; `nil` at the end. Calls `resume` when libcurl may go on.
    func next(resuming resume: () -> Void) async throws(ServiceError) -> Data? {
        while true {
            let next: Next = state.withLock { state in
                if !state.buffer.isEmpty {
                    defer {
                        state.buffer = Data()
                        state.isPaused = false
                    }
                    return .chunk(state.buffer, wasPaused: state.isPaused)
                }
                if let ending = state.ending { return .end(ending) }
                // Two readers share what comes: each gets the bytes that the other does not.
                let news = state.news ?? Flight<Void, ServiceError>()
                state.news = news
                return .wait(news)
            }
            switch next {
            case .chunk(let data, let wasPaused):
                if wasPaused { resume() }
                return data
            case .end(let ending):
                try ending.get()
                return nil
            case .wait(let news): try await news.value()
            }
        }
    }
}

/// The reader's end of a streamed body: the transfer ends when it is released.
final class CurlReader: Sendable {
    private let download: CurlDownload
    private let exchange: CurlExchange
    private let loop: CurlLoop
    /// Retained so that a body can be read after its client is gone.
    private let transport: CurlTransport

    init(_ download: CurlDownload, of exchange: CurlExchange, on loop: CurlLoop, keeping transport: CurlTransport) {
        self.download = download
        self.exchange = exchange
        self.loop = loop
        self.transport = transport
    }

    func next() async throws -> Data? {
        try await download.next { loop.resume(exchange) }
    }

    deinit {
        loop.cancel(exchange)
    }
}
#endif
