#if os(Linux)
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The reader's end of a streamed body: the transfer ends when it is released.
final class CurlReader: Sendable {
    private let download: CurlDownload
    private let exchange: CurlExchange
    private let loops: CurlLoops
    /// The transport, retained so that a body can be read after its client is gone.
    private let transport: any Transport

    init(_ download: CurlDownload, of exchange: CurlExchange, on loops: CurlLoops, keeping transport: any Transport) {
        self.download = download
        self.exchange = exchange
        self.loops = loops
        self.transport = transport
    }

    /// Returns the next bytes of the body, which is decoded by `coded` if it is coded.
    func next(of coded: CodedBody?) async throws(ServiceError) -> Data? {
        guard let coded else { return try await download.buffer.next { loops.resume(exchange) } }
        do throws(ServiceError) {
            return try await coded.next { [loops, exchange] in loops.resume(exchange) }
        } catch {
            // A body that cannot be decoded is of no use to anybody, though its reader may keep it.
            loops.cancel(exchange)
            throw error
        }
    }

    deinit {
        loops.cancel(exchange)
    }
}
#endif
