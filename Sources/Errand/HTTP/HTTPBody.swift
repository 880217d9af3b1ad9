#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The body of a request or a response: bytes in memory, or a stream of chunks.
public struct HTTPBody: Sendable {
    /// The chunks of a streamed body.
    public typealias Chunks = AsyncThrowingStream<Data, any Error>

    enum Storage: Sendable {
        case bytes(Data)
        case stream(length: Int?, isReplayable: Bool, open: @Sendable () -> Chunks)
    }

    /// What is known of a body beside its bytes.
    final class Source: Sendable {
        /// The file that is the body, for a transport that reads it itself; `check` throws if the file has changed.
        let file: (path: String, check: @Sendable () async throws -> Void)?
        /// The fields of a form that are in memory, by whose names the secrets among them are recognized.
        let fields: [(name: String, value: Data)]
        /// The JSON parts of a form, in which there may be secrets too.
        let documents: [Data]

        init(
            file: (path: String, check: @Sendable () async throws -> Void)? = nil,
            fields: [(name: String, value: Data)] = [], documents: [Data] = []
        ) {
            self.file = file
            self.fields = fields
            self.documents = documents
        }
    }

    /// The greatest size of a piece that is read from a file, or cut from bytes in memory, 512 KiB: with half of that,
    /// a large upload takes a quarter longer than with the curl program, and twice as much takes memory for nothing.
    static let pieceSize = 512 << 10

    let storage: Storage
    /// An object, because few bodies have one, and each call keeps several copies of its request.
    var source: Source?

    /// An empty body.
    public static let empty = HTTPBody(storage: .bytes(Data()))

    /// Creates a body from bytes.
    public static func bytes(_ data: Data) -> HTTPBody {
        HTTPBody(storage: .bytes(data))
    }

    /// Creates a body that can be streamed once. A call with such a body is never sent a second time.
    public static func stream(length: Int? = nil, _ chunks: Chunks) -> HTTPBody {
        HTTPBody(storage: .stream(length: length, isReplayable: false) { chunks })
    }

    /// Creates a body that can be streamed any number of times: each send calls `open`.
    public static func stream(length: Int? = nil, opening open: @escaping @Sendable () -> Chunks) -> HTTPBody {
        HTTPBody(storage: .stream(length: length, isReplayable: true, open: open))
    }

    /// Creates a body from any sequence of chunks that can be read once, such as the body of a streamed response. A
    /// call with such a body is never sent a second time.
    public static func stream<Sequence: AsyncSequence & Sendable>(
        length: Int? = nil, _ chunks: Sequence
    ) -> HTTPBody where Sequence.Element == Data {
        stream(length: length, Chunks(reading: chunks))
    }

    /// Creates a body from a sequence of chunks that can be streamed any number of times: each send calls `open`.
    public static func stream<Sequence: AsyncSequence & Sendable>(
        length: Int? = nil, opening open: @escaping @Sendable () -> Sequence
    ) -> HTTPBody where Sequence.Element == Data {
        stream(length: length) { Chunks(reading: open()) }
    }

    /// The number of bytes; `nil` if it is not known in advance.
    public var length: Int? {
        switch storage {
        case .bytes(let data): data.count
        case .stream(let length, _, _): length
        }
    }

    /// Whether the body can be sent more than once.
    public var isReplayable: Bool {
        switch storage {
        case .bytes: true
        case .stream(_, let isReplayable, _): isReplayable
        }
    }

    /// The bytes, if they are in memory; otherwise `nil`.
    public var bytes: Data? {
        guard case .bytes(let data) = storage else { return nil }
        return data
    }

    /// The body as a stream of chunks. Bytes in memory form one chunk.
    public var chunks: Chunks {
        switch storage {
        case .stream(_, _, let open): open()
        case .bytes(let data):
            Chunks { continuation in
                if !data.isEmpty { continuation.yield(data) }
                continuation.finish()
            }
        }
    }

    /// Returns the whole body. Throws `tooLarge` if there are more than `limit` bytes; a stream is read no further than
    /// the chunk that exceeds the limit. Calls `noteProgress` for each chunk.
    func collect(
        upTo limit: Int, reporting noteProgress: () -> Void = {}, otherwise tooLarge: @autoclosure () -> some Error
    ) async throws -> Data {
        switch storage {
        case .bytes(let data):
            guard data.count <= limit else { throw tooLarge() }
            return data
        case .stream(let length, _, let open):
            if let length, length > limit { throw tooLarge() }
            var collected = Data()
            for try await chunk in open() {
                guard collected.count + chunk.count <= limit else { throw tooLarge() }
                collected.append(chunk)
                noteProgress()
            }
            // In a canceled task, iteration ends without an error although the stream has not ended.
            try Task.checkCancellation()
            return collected
        }
    }
}

extension HTTPBody.Chunks {
    /// Creates the same sequence with another type.
    fileprivate init<Sequence: AsyncSequence & Sendable>(reading chunks: Sequence) where Sequence.Element == Data {
        let reader = ChunkReader(chunks)
        self.init { try await reader.next() }
    }
}

/// Reads a sequence of chunks; an actor because its iterator must not be used in two tasks at once.
private actor ChunkReader<Sequence: AsyncSequence & Sendable> where Sequence.Element == Data {
    private var iterator: Sequence.AsyncIterator

    init(_ chunks: Sequence) {
        iterator = chunks.makeAsyncIterator()
    }

    /// Returns the next chunk. The stream of the body calls it for one chunk after the other.
    func next() async throws -> Data? {
        var iterator = iterator
        defer { self.iterator = iterator }
        return try await iterator.next(isolation: self)
    }
}

extension HTTPBody: OpaqueReflectable {
    /// The size of the body, without its content.
    public var description: String {
        switch storage {
        case .bytes(let data): "\(data.count) bytes"
        case .stream(let length?, _, _): "a stream of \(length) bytes"
        case .stream: "a stream"
        }
    }
}
