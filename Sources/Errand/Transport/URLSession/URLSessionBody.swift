#if URLSession || canImport(Darwin)
import Foundation

/// The body of a request as `URLSession` sends it: bytes, or a file, which it reads itself and in pieces.
///
/// A stream is written to a temporary file first. A pair of bound streams would need no file, but exists on Apple's
/// platforms only, where no test of ours runs.
struct URLSessionBody: Sendable {
    let bytes: Data?
    let file: URL?
    /// Throws if the file is not what it was when the call began.
    let check: @Sendable () async throws -> Void
    private let spool: SpoolFile?

    init(_ body: HTTPBody?, _ context: TransportContext) async throws {
        guard let body, body.bytes == nil else {
            (bytes, file, spool, check) = (body?.bytes, nil, nil, {})
            return
        }
        bytes = nil
        #if canImport(Darwin)
        // On Linux, Foundation waits for the rest of a file that has become shorter.
        if let original = body.source?.file {
            (file, spool, check) = (URL(fileURLWithPath: original.path), nil, original.check)
            return
        }
        #endif
        let spool = try SpoolFile()
        try await spool.fill(from: body, context)
        (file, self.spool, check) = (spool.url, spool, {})
    }

    /// Whether there is nothing to send.
    var isEmpty: Bool { file == nil && bytes?.isEmpty ?? true }
}

/// A temporary file, which is removed when it is released.
private final class SpoolFile: Sendable {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
    private let handle: FileHandle

    init() throws {
        guard FileManager.default.createFile(atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o600])
        else { throw Self.failure }
        do {
            handle = try FileHandle(forWritingTo: url)
        } catch {
            throw Self.failure
        }
    }

    func fill(from body: HTTPBody, _ context: TransportContext) async throws {
        try await context.scope.result(of: { [self] in
            var count = 0
            do {
                for try await chunk in body.chunks {
                    try await DiskThreads.run(by: context.time, at: url.path) { [self] () throws(ServiceError) in
                        try write(chunk)
                    }
                    context.noteProgress()
                    count += chunk.count
                }
            } catch {
                throw ServiceError(error) { .streamFailed(foreignName(of: $0)) }
            }
            // In a canceled task, iteration ends without an error although the stream has not ended.
            try Task.checkCancellation()
            guard count == body.length ?? count else { throw ServiceError.wrongLength(of: body) }
            try handle.close()
        }).get()
    }

    private func write(_ chunk: Data) throws(ServiceError) {
        do {
            try handle.write(contentsOf: chunk)
        } catch {
            throw Self.failure
        }
    }

    private static var failure: ServiceError {
        let message = "the body of the request cannot be written to the folder for temporary files"
        return .transport(TransportFailure(.file, message, mayHaveReachedServer: false))
    }

    deinit {
        // A file that cannot be removed is left to the system, which empties the folder.
        try? FileManager.default.removeItem(at: url)
    }
}
#endif
