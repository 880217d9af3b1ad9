#if os(Linux)
import CCurl
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A body that arrives coded, and is decoded when it is read: in the reader's task, and no further than it asks for.
///
/// libcurl could decode too. But it does so in its own thread, all that has come at once, and believes that a body is
/// complete when its coded bytes end early.
///
/// An actor, because two tasks may read a stream, and each step begins where the one before has ended.
actor CodedBody {
    /// How many bytes are decoded at once.
    static let pieceSize = 64 << 10

    /// What comes of one step.
    enum Step: Sendable {
        case piece(Data)
        case end(Result<Void, ServiceError>)
        case wait(Latch)
        /// The codings have made nothing of what has come so far.
        case nothing
    }

    nonisolated let buffer: CurlBuffer
    private let codings: [String]
    private let limit: Int
    private var decoder: Decoder?
    /// The coded bytes that are being decoded, and how many of them are.
    private var (chunk, decoded) = (Data(), 0)
    private var wantsBytes = true
    private var ending: Result<Void, ServiceError>?

    /// Creates a body from the bytes in `buffer`, to which `codings` were applied in that order, of up to `limit` bytes
    /// when decoded.
    init(_ buffer: CurlBuffer, codings: [String], limit: Int) {
        self.buffer = buffer
        self.codings = codings
        self.limit = limit
    }

    /// The codings that can be decoded, as a value of `Accept-Encoding`.
    static let known = String(cString: ccurl_codings())

    /// Returns the next decoded bytes; `nil` at the end. Calls `resume` when libcurl may go on.
    func next(resuming resume: @Sendable () -> Void) async throws(ServiceError) -> Data? {
        while true {
            switch step(resuming: resume) {
            case .piece(let data): return data
            case .end(let ending):
                try ending.get()
                return nil
            // Reentrancy: another reader may take what comes; the next step shows.
            case .wait(let news): try await news.opened(in: CallScope())
            case .nothing:
                if Task.isCancelled { throw .cancelled }
                await Task.yield()
            }
        }
    }

    /// Returns the whole body, unless the scope is stopped before.
    func collect(
        in scope: CallScope, resuming resume: @Sendable () -> Void
    ) async throws(ServiceError) -> Data {
        var (body, share) = (Data(), ReadingShare())
        while let piece = try await next(resuming: resume) {
            if scope.isStopped { throw .cancelled }
            // The bytes alone count here, which take as long as the time says elsewhere.
            if share.needsLook(afterLineOf: piece.count), share.isUsedUp(at: .zero) { await Task.yield() }
            if body.isEmpty { body = piece } else { body.append(piece) }
        }
        return body
    }

    /// Decodes what fits into one piece, without waiting.
    func step(resuming resume: () -> Void) -> Step {
        if let ending { return .end(ending) }
        if wantsBytes {
            switch buffer.poll() {
            case .wait(let news): return .wait(news)
            case .chunk(let data, let wasPaused):
                (chunk, decoded, wantsBytes) = (data, 0, false)
                if wasPaused { resume() }
            // A connection that broke off is the reason why the coded bytes have ended early.
            case .end(.failure(let error)): return end(.failure(error))
            case .end(.success): return end(decoder?.end() ?? .success(()))
            }
        }
        do throws(ServiceError) {
            let piece = try decode()
            return piece.isEmpty ? .nothing : .piece(piece)
        } catch {
            return end(.failure(error))
        }
    }

    private func decode() throws(ServiceError) -> Data {
        let decoder: Decoder
        if let present = self.decoder { decoder = present } else { decoder = try Decoder(codings, limit: limit) }
        self.decoder = decoder
        let piece: Data
        (piece, wantsBytes) = try decoder.decode(chunk, from: &decoded)
        if wantsBytes { chunk = Data() }
        return piece
    }

    private func end(_ ending: Result<Void, ServiceError>) -> Step {
        self.ending = ending
        (decoder, chunk) = (nil, Data())
        return .end(ending)
    }
}

/// The C side of a coded body.
private final class Decoder {
    private let core: OpaquePointer
    private let room = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: CodedBody.pieceSize)
    private let names: String
    private let limit: Int

    init(_ codings: [String], limit: Int) throws(ServiceError) {
        guard let core = ccurl_decoder_new(limit) else { throw .noMemoryToDecode }
        self.core = core
        self.limit = limit
        names = codings.joined(separator: ", ")
        // The coding that was applied last is undone first.
        guard codings.reversed().allSatisfy({ ccurl_decoder_undo(core, $0) }) else { throw .unknownCoding }
    }

    deinit {
        ccurl_decoder_free(core)
        room.deallocate()
    }

    /// Decodes a piece of the coded bytes. Returns it, and whether all of them are decoded.
    func decode(_ coded: Data, from start: inout Int) throws(ServiceError) -> (piece: Data, isAll: Bool) {
        let (result, piece) = coded.withUnsafeBytes { coded in
            var bytes = coded.bindMemory(to: UInt8.self).baseAddress.map { $0 + start }
            var (count, place, size) = (coded.count - start, room.baseAddress, room.count)
            let result = ccurl_decoder_run(core, &bytes, &count, &place, &size)
            start = coded.count - count
            return (result, Data(room.prefix(room.count - size)))
        }
        if result != CCURL_GOES_ON, result != CCURL_WANTS_BYTES { throw error(result) }
        return (piece, result == CCURL_WANTS_BYTES)
    }

    /// Whether the coded bytes may end here.
    func end() -> Result<Void, ServiceError> {
        let result = ccurl_decoder_end(core)
        return result == CCURL_WHOLE ? .success(()) : .failure(error(result))
    }

    private func error(_ result: ccurl_decoding) -> ServiceError {
        let body = "the compressed body of the response (\(names))"
        return switch result {
        case CCURL_CUT: .transport(TransportFailure(.truncated, "\(body) ends too early"))
        case CCURL_SURPLUS: .transport(TransportFailure(.malformed, "\(body) does not end where it should"))
        case CCURL_TOO_MANY: .bodyTooLarge(limit)
        case CCURL_TOO_WIDE:
            .transport(TransportFailure(.tooLarge, "\(body) takes more than 8 megabytes of memory to decompress"))
        case CCURL_NO_MEMORY: .noMemoryToDecode
        default: .transport(TransportFailure(.malformed, "\(body) is damaged"))
        }
    }
}

extension ServiceError {
    fileprivate static var noMemoryToDecode: ServiceError {
        let message = "there is no memory left to decompress the response"
        return .transport(TransportFailure(.outOfResources, message, mayHaveReachedServer: true))
    }

    fileprivate static var unknownCoding: ServiceError {
        let message = "the compressed body of the response cannot be read: only \(CodedBody.known) can, five at once"
        return .transport(TransportFailure(.malformed, message))
    }
}
#endif
