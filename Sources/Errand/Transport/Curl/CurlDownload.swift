#if os(Linux)
import CCurl
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A streamed response on its way from libcurl's thread to its reader.
final class CurlDownload: Sendable {
    /// Completes when the head of the response is complete, or the transfer has failed before.
    let head = Promise<HTTPResponse, ServiceError>()
    let buffer = CurlBuffer()
    private let giveBack: @Sendable (CurlExchange.Handle) -> Void

    /// Creates a download that passes the handle to `giveBack` when the transfer has ended.
    init(givingBack giveBack: @escaping @Sendable (CurlExchange.Handle) -> Void) {
        self.giveBack = giveBack
    }

    /// The head has come, and is this unless it could not be read.
    func begin(_ handle: CurlExchange.Handle, with lines: CurlHead? = nil) {
        head.complete(Result { () throws(ServiceError) in try CurlAnswer(handle, lines).response(with: .empty) })
    }

    /// The transfer has ended.
    func end(_ ending: Result<Void, ServiceError>, of handle: CurlExchange.Handle) {
        if head.outcome == nil {
            if case .failure(let error) = ending { head.complete(.failure(error)) } else { begin(handle) }
        }
        giveBack(handle)
        buffer.end(ending)
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

    /// Returns the next bytes of the body, which is decoded by `coded` if it is coded.
    func next(of coded: CodedBody?) async throws(ServiceError) -> Data? {
        guard let coded else { return try await download.buffer.next { loop.resume(exchange) } }
        do throws(ServiceError) {
            return try await coded.next { [loop, exchange] in loop.resume(exchange) }
        } catch {
            // A body that cannot be decoded is of no use to anybody, though its reader may keep it.
            loop.cancel(exchange)
            throw error
        }
    }

    deinit {
        loop.cancel(exchange)
    }
}
#endif
