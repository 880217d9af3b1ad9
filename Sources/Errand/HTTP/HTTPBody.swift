#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The body of a request or of a response: bytes that are there, or a stream of chunks that come.
public struct HTTPBody: Sendable {
    /// The chunks of a streamed body.
    public typealias Chunks = AsyncThrowingStream<Data, any Error>

    enum Storage: Sendable {
        case bytes(Data)
        case stream(length: Int?, isReplayable: Bool, open: @Sendable () -> Chunks)
    }

    let storage: Storage

    /// A body without bytes.
    public static let empty = HTTPBody(storage: .bytes(Data()))

    /// A body of bytes.
    public static func bytes(_ data: Data) -> HTTPBody {
        HTTPBody(storage: .bytes(data))
    }

    /// A body that can be streamed once. A call with such a body is never sent a second time.
    public static func stream(length: Int? = nil, _ chunks: Chunks) -> HTTPBody {
        HTTPBody(storage: .stream(length: length, isReplayable: false) { chunks })
    }

    /// A body that can be streamed as often as needed: `open` is called for every send.
    public static func stream(length: Int? = nil, opening open: @escaping @Sendable () -> Chunks) -> HTTPBody {
        HTTPBody(storage: .stream(length: length, isReplayable: true, open: open))
    }

    /// The number of bytes, where it is known beforehand.
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

    /// The bytes, if they are there already.
    public var bytes: Data? {
        guard case .bytes(let data) = storage else { return nil }
        return data
    }

    /// The body as chunks; bytes that are there are one chunk.
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

    /// The whole body. More than `limit` bytes are that error: a stream is left at the chunk that goes over it.
    func collect(upTo limit: Int, otherwise tooLarge: @autoclosure () -> some Error) async throws -> Data {
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
            }
            // A stream that is iterated in a cancelled task ends without a word; that is not its end.
            try Task.checkCancellation()
            return collected
        }
    }
}

extension HTTPBody: CustomStringConvertible, CustomReflectable {
    /// How large it is; never what is in it.
    public var description: String {
        switch storage {
        case .bytes(let data): "\(data.count) bytes"
        case .stream(let length?, _, _): "a stream of \(length) bytes"
        case .stream: "a stream"
        }
    }

    /// Shows no more than the description.
    public var customMirror: Mirror { Mirror(self, children: ["size": description]) }
}
