#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Call {
    /// How long a call that has ended waits for what has to be done with its files: longer than a disk takes that does
    /// not hang.
    private static let grace = Duration.milliseconds(100)

    /// Runs work on a file on a thread for the disk. When the call ends, it leaves that behind.
    @_semantics("optimize.sil.specialize.generic.never")
    func onDisk<Value: Sendable>(
        at path: String, _ work: @escaping @Sendable () throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        try await run { (scope: CallScope) async throws(ServiceError) in
            try await DiskThreads.run(by: time, at: path, in: scope, work)
        }
    }

    /// Does the same, but waits a little for the outcome if the call ends or has ended. Work that has not begun by then
    /// is not done.
    @_semantics("optimize.sil.specialize.generic.never")
    func onDiskWithGrace<Value: Sendable>(
        at path: String, _ work: @escaping @Sendable () throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        let scope = CallScope()
        do throws(ServiceError) {
            try throwIfStopped()
        } catch {
            scope.stop(error)
            return try await DiskThreads.run(by: time, at: path, grace: Self.grace, in: scope, work)
        }
        return try await run { (scope: CallScope) async throws(ServiceError) in
            try await DiskThreads.run(by: time, at: path, grace: Self.grace, in: scope, work)
        }
    }

    /// Does what has to be done with a file at the end of the call. It is done in any case, before anything else is
    /// done with the file, but the call waits only a little for it.
    func finishOnDisk(at path: String, _ work: @escaping @Sendable () -> Void) async {
        await DiskThreads.finish(by: time, at: path, within: Self.grace, work)
    }

    /// Looks at the files of a body.
    func files(of body: RequestBody?) async throws(ServiceError) -> BodyFiles {
        guard let places = body?.files, !places.isEmpty else { return BodyFiles() }
        return try await run { (scope: CallScope) async throws(ServiceError) in
            try await BodyFiles.looking(at: places, by: time, in: scope)
        }
    }

    /// Adds the digests of the body that the options ask for. A file is read for that, which takes until the end of the
    /// call at the longest; each time it is sent, its reader checks that it is still the one that was read here.
    func addDigests(_ options: CallOptions, to request: inout HTTPRequest) async throws(ServiceError) {
        guard !options.digests.isEmpty, let body = request.body else { return }
        // What takes long does not keep the caller's actor.
        if let bytes = body.bytes, bytes.count <= HTTPBody.pieceSize {
            request.add(options.digests, sha256: SHA256.hash(of: bytes))
        } else {
            request.add(
                options.digests,
                sha256: try await runInChild { () async throws(ServiceError) in
                    try await body.sha256()
                })
        }
    }
}

extension HTTPBody {
    /// Returns the hash of a body of files or of many bytes, piece by piece.
    fileprivate func sha256() async throws(ServiceError) -> [UInt8] {
        var hash = SHA256()
        do {
            var rest = bytes ?? Data()
            while !rest.isEmpty {
                hash.append(rest.prefix(Self.pieceSize))
                rest = rest.dropFirst(Self.pieceSize)
                await Task.yield()
                try Task.checkCancellation()
            }
            if bytes == nil {
                for try await chunk in chunks { hash.append(chunk) }
            }
        } catch {
            throw ServiceError(error) { .unusableFile("the body cannot be read: \(foreignName(of: $0))") }
        }
        // In a canceled task, iteration ends without an error although the body has not ended.
        if Task.isCancelled { throw .cancelled }
        return hash.finalized()
    }
}
