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
    /// When the connection breaks, the download goes on after the last byte that has arrived, as often as it makes
    /// progress; without any, the endpoint's retry policy limits the attempts. The bytes are kept in `app.zip.part`
    /// until the file is complete, even if the process is killed, and the next download to the same place goes on after
    /// them. The file itself appears whole or not at all. It has mode 0600, and replaces one with its name.
    ///
    /// The download is one call of the client, with one deadline; each request has a permit, a token and redirects like
    /// any other. It is not compressed, and ``Configuration/responseByteLimit`` does not apply. If the server names a
    /// SHA-256 in `Repr-Digest` or `Content-Digest`, the file is checked.
    ///
    /// - Parameters:
    ///   - endpoint: The call. Only a GET can go on; another method is sent once.
    ///   - path: The path of the file. Its folder must exist. Two downloads to one place at once are `.invalidRequest`,
    ///     and so are a folder, a symbolic link and a folder that is not writable.
    ///   - resuming: Whether to go on after what an earlier download has left.
    ///   - digest: A digest that the file must have. If it has another, the error is `.transport` of the kind
    ///     `.digestMismatch`, and the file is removed.
    ///   - onProgress: Receives the progress, at most ten times a second and at the end. The download waits for it.
    @concurrent @discardableResult
    public nonisolated func download(
        _ endpoint: Endpoint<Data>, to path: String, resuming: Bool = true, expecting digest: FileDigest? = nil,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> DownloadedFile {
        try await download(
            endpoint, DownloadOrder(path: path, isResuming: resuming, digest: digest, onProgress: onProgress))
    }

    /// Downloads a file to a location of the file system.
    @concurrent @discardableResult
    public nonisolated func download(
        _ endpoint: Endpoint<Data>, to file: URL, resuming: Bool = true, expecting digest: FileDigest? = nil,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> DownloadedFile {
        try await download(
            endpoint, to: FilePlace.url(file).path, resuming: resuming, expecting: digest, onProgress: onProgress)
    }

    /// Downloads a file from an address that expires, such as a signed URL: each attempt asks for another.
    ///
    ///     let file = try await storage.download(
    ///         asking: { .get(url: try await api.run(.address(of: id))) }, to: "app.zip")
    ///
    /// If the address has expired meanwhile, so that the server refuses it, the download asks for another and goes on.
    /// The query of the address may differ each time, the path must be the same.
    ///
    /// - Parameters:
    ///   - endpoint: Returns the call. An error of its own that is no ``ServiceError`` is `.transport` of the kind
    ///     `.middleware`.
    ///   - path: The path of the file.
    ///   - resuming: Whether to go on after what an earlier download has left.
    ///   - digest: A digest that the file must have.
    ///   - onProgress: Receives the progress, at most ten times a second and at the end.
    @concurrent @discardableResult
    public nonisolated func download(
        asking endpoint: @escaping @Sendable () async throws -> Endpoint<Data>, to path: String, resuming: Bool = true,
        expecting digest: FileDigest? = nil, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> DownloadedFile {
        let order = DownloadOrder(
            path: path, isResuming: resuming, digest: digest, onProgress: onProgress, ask: endpoint)
        return try await download(DownloadOrder.translating(endpoint), order)
    }

    /// Downloads a file from an address that expires to a location of the file system.
    @concurrent @discardableResult
    public nonisolated func download(
        asking endpoint: @escaping @Sendable () async throws -> Endpoint<Data>, to file: URL, resuming: Bool = true,
        expecting digest: FileDigest? = nil, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> DownloadedFile {
        try await download(
            asking: endpoint, to: FilePlace.url(file).path, resuming: resuming, expecting: digest,
            onProgress: onProgress)
    }

    private nonisolated func download(
        _ endpoint: Endpoint<Data>, _ order: DownloadOrder
    ) async throws(ServiceError) -> DownloadedFile {
        let call = try begin(endpoint, delivery: .stream)
        do throws(ServiceError) {
            let file = try await Download.run(order, endpoint, as: call, of: self)
            calls.end(call, telling: .succeeded(attempts: file.attempts, after: call.age))
            return file
        } catch {
            throw end(call, with: error)
        }
    }
}

/// What the caller of a download wants.
struct DownloadOrder: Sendable {
    let path: String
    let isResuming: Bool
    let digest: FileDigest?
    let onProgress: (@Sendable (TransferProgress) -> Void)?
    /// Returns the endpoint of each attempt; `nil` if it is always the same.
    var ask: (@Sendable () async throws -> Endpoint<Data>)?

    /// Asks for an endpoint, and translates the errors of foreign code.
    static func translating(
        _ ask: @Sendable () async throws -> Endpoint<Data>
    ) async throws(ServiceError) -> Endpoint<Data> {
        do {
            return try await ask()
        } catch {
            throw ServiceError(error) { error in
                let message = "the closure that names the address of a download threw \(foreignName(of: error))"
                return .transport(TransportFailure(.middleware, message, mayHaveReachedServer: false))
            }
        }
    }
}
