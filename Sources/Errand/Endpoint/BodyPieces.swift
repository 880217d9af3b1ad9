#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension HTTPBody {
    /// Returns a body that consists of those bodies, one after the other. It can be sent again if all of them can, and
    /// its length is known if all their lengths are.
    static func joined(_ parts: [HTTPBody]) -> HTTPBody {
        let lengths = parts.compactMap(\.length)
        let length = lengths.count == parts.count ? lengths.reduce(0, +) : nil
        return pieces(of: parts, length: length, isReplayable: parts.allSatisfy(\.isReplayable)) { { _ in } }
    }

    /// Returns the same body in pieces. Each time it is sent, `begin` is called, and what that returns is called with
    /// the size of each piece before it is handed out, and with 0 at the end.
    func counted(_ begin: @escaping @Sendable () -> @Sendable (Int) -> Void) -> HTTPBody {
        Self.pieces(of: [self], length: length, isReplayable: isReplayable, begin)
    }

    private static func pieces(
        of parts: [HTTPBody], length: Int?, isReplayable: Bool,
        _ begin: @escaping @Sendable () -> @Sendable (Int) -> Void
    ) -> HTTPBody {
        HTTPBody(
            storage: .stream(length: length, isReplayable: isReplayable) {
                let note = begin()
                let reader = BodyPieces(parts)
                return Chunks {
                    let piece = try await reader.next()
                    note(piece?.count ?? 0)
                    return piece
                }
            })
    }
}

/// Reads bodies one after the other, in pieces, for one reader.
private final class BodyPieces: Sendable {
    private enum Source {
        case bytes(Data)
        case chunks(HTTPBody.Chunks, of: HTTPBody, read: Int)
    }

    private struct State {
        var parts: ArraySlice<HTTPBody>
        var source = Source.bytes(Data())
    }

    private let state: Lock<State>

    init(_ parts: [HTTPBody]) {
        state = Lock(State(parts: parts[...]))
    }

    /// Returns the next piece, which is not empty; `nil` at the end. Throws if a part is not as long as it promised: in
    /// a form, all parts after it would be misread.
    func next() async throws -> Data? {
        while true {
            switch state.withLock({ $0.source }) {
            case .bytes(let data) where !data.isEmpty:
                state.withLock { $0.source = .bytes(data.dropFirst(HTTPBody.pieceSize)) }
                return data.prefix(HTTPBody.pieceSize)
            case .bytes:
                guard beginPart() else { return nil }
            case .chunks(let chunks, let part, let read):
                var iterator = chunks.makeAsyncIterator()
                let chunk = try await iterator.next()
                let count = try check(chunk, of: part, after: read)
                state.withLock { $0.source = chunk == nil ? .bytes(Data()) : .chunks(chunks, of: part, read: count) }
                if let chunk, !chunk.isEmpty { return chunk }
            }
        }
    }

    /// Goes on to the next part. Returns whether there is one.
    private func beginPart() -> Bool {
        guard let part = state.withLock({ $0.parts.popFirst() }) else { return false }
        // Outside the lock, because a stream is opened by the user's code.
        let source = part.bytes.map(Source.bytes) ?? .chunks(part.chunks, of: part, read: 0)
        state.withLock { $0.source = source }
        return true
    }

    /// Returns the number of bytes that have been read of a part with this chunk, or in all at its end.
    private func check(_ chunk: Data?, of part: HTTPBody, after read: Int) throws -> Int {
        // In a canceled task, iteration ends without an error although the stream has not ended.
        if chunk == nil { try Task.checkCancellation() }
        let count = read + (chunk?.count ?? 0)
        let isFine = part.length.map { chunk == nil ? count == $0 : count <= $0 } ?? true
        guard isFine else { throw ServiceError.wrongLength(of: part) }
        return count
    }
}
