#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension APIClient {
    /// Downloads a file.
    ///
    ///     let file = try await client.download(.get("releases/\(id)"), to: "app.zip") { progress in
    ///         bar.show(progress.fraction)
    ///     }
    ///
    /// When the connection breaks, the download resumes after the last byte that has arrived, as long as it makes
    /// progress: at least 4 KiB, or a thousandth of a small file. Without that, the endpoint's retry policy limits the
    /// attempts. The bytes are kept in `app.zip.part` until the file is complete, even if the process is killed. The
    /// next download to the same place resumes if it requests the same in the same session and the server confirms that
    /// the version is the same. The file itself appears whole or not at all. It has mode 0600, and replaces one with
    /// its name.
    ///
    /// The download is one call of the client, with one deadline; each request has a permit, a token and redirects like
    /// any other. It belongs to the session that is present when it begins, and ends with that session.
    /// ``Configuration/responseByteLimit`` does not apply. A server that compresses the file although it was asked not
    /// to is refused: the error is `.transport` of the kind `.malformed`. If the server names a SHA-256 in
    /// `Repr-Digest` or `Content-Digest`, the file is checked.
    ///
    /// - Parameters:
    ///   - endpoint: The call. Only a GET can be resumed; another method is sent once. A header `Range` is
    ///     `.invalidRequest`, because the download sets it by itself.
    ///   - path: The path of the file. Its folder must exist. Two downloads to one place at once are `.invalidRequest`,
    ///     and so are a folder, a symbolic link and a folder that is not writable.
    ///   - resuming: Whether to resume an earlier download to the same place.
    ///   - digest: A digest that the file must have. If it has another, the error is `.transport` of the kind
    ///     `.digestMismatch`, and the file is removed.
    ///   - byteLimit: The greatest number of bytes in the file; `nil`, no limit, by default. If there are more, the
    ///     error is `.transport` of the kind `.tooLarge`, and what has arrived is removed. A file whose length is
    ///     announced is refused before it is begun.
    ///   - onProgress: Receives the progress, at most ten times a second and at the end. The download waits for it.
    @concurrent @discardableResult
    public nonisolated func download(
        _ endpoint: Endpoint<Data>, to path: String, resuming: Bool = true, expecting digest: FileDigest? = nil,
        byteLimit: Int? = nil, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> DownloadedFile {
        try await download(
            DownloadOrder(
                source: .endpoint(endpoint.untyped), path: path, isResuming: resuming, digest: digest,
                byteLimit: byteLimit,
                onProgress: onProgress))
    }

    /// Downloads a file to a location of the file system.
    @concurrent @discardableResult
    public nonisolated func download(
        _ endpoint: Endpoint<Data>, to file: URL, resuming: Bool = true, expecting digest: FileDigest? = nil,
        byteLimit: Int? = nil, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> DownloadedFile {
        try await download(
            endpoint, to: FilePlace.url(file).path, resuming: resuming, expecting: digest, byteLimit: byteLimit,
            onProgress: onProgress)
    }

    /// Downloads a file from an address that expires, such as a signed URL: the download asks for it, and asks again
    /// when it resumes.
    ///
    ///     let file = try await storage.download(
    ///         asking: { .get(url: try await api.run(.address(of: id))) }, to: "app.zip")
    ///
    /// The download asks before the first request, after each break of the connection, and when the server refuses the
    /// address with a 4xx after the file has begun to arrive. A request that is repeated before that, such as after a
    /// 503, has the same address. Two addresses that differ only in their query lead to the same file; with another
    /// path, the download begins again.
    ///
    /// The question is part of the call: `activity` counts it, the deadline covers it, and what stops the call cancels
    /// it, including the end of the session that is present when the download begins. An endpoint's own deadline counts
    /// from the first question on.
    ///
    /// - Parameters:
    ///   - endpoint: Returns the call. It must return promptly after cancellation. An error of its own that is no
    ///     ``ServiceError`` is `.transport` of the kind `.other`.
    ///   - path: The path of the file.
    ///   - resuming: Whether to resume an earlier download to the same place.
    ///   - digest: A digest that the file must have.
    ///   - byteLimit: The greatest number of bytes in the file; `nil`, no limit, by default.
    ///   - onProgress: Receives the progress, at most ten times a second and at the end.
    @concurrent @discardableResult
    public nonisolated func download(
        asking endpoint: @escaping @Sendable () async throws -> Endpoint<Data>, to path: String, resuming: Bool = true,
        expecting digest: FileDigest? = nil, byteLimit: Int? = nil,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> DownloadedFile {
        try await download(
            DownloadOrder(
                source: .asking(endpoint), path: path, isResuming: resuming, digest: digest, byteLimit: byteLimit,
                onProgress: onProgress))
    }

    /// Downloads a file from an address that expires to a location of the file system.
    @concurrent @discardableResult
    public nonisolated func download(
        asking endpoint: @escaping @Sendable () async throws -> Endpoint<Data>, to file: URL, resuming: Bool = true,
        expecting digest: FileDigest? = nil, byteLimit: Int? = nil,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> DownloadedFile {
        try await download(
            asking: endpoint, to: FilePlace.url(file).path, resuming: resuming, expecting: digest,
            byteLimit: byteLimit, onProgress: onProgress)
    }

    private nonisolated func download(_ order: DownloadOrder) async throws(ServiceError) -> DownloadedFile {
        var call = try begin(order.firstEndpoint, delivery: .stream, acceptsCached: false)
        do throws(ServiceError) {
            // The session of this moment signs the requests, also if another user signs in while the closure is asked
            // or the disk is slow (T7).
            bind(call, to: try pipeline.get().session.present(for: call.rules.authentication))
            let file = try await configuration.time.run { () async throws(ServiceError) in
                let endpoint = try await order.endpoint(of: call)
                if order.isAsking { call = continued(call, with: endpoint) }
                return try await RunningDownload.run(order, endpoint, as: call, of: self)
            }
            calls.end(call, reporting: .succeeded(attempts: file.attempts, after: call.settings.age))
            return file
        } catch {
            throw end(call, with: error)
        }
    }
}
