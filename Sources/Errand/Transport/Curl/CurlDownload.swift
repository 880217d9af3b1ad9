#if os(Linux)
/// A streamed response on its way from libcurl's thread to its reader.
final class CurlDownload: Sendable {
    /// Completes when the head of the response is complete, or the transfer has failed before.
    let head = Promise<HTTPResponse, ServiceError>()
    let buffer = CurlBuffer()
    private let giveBack: @Sendable (CurlHandle) -> Void

    /// Creates a download that passes the handle to `giveBack` when the transfer has ended.
    init(givingBack giveBack: @escaping @Sendable (CurlHandle) -> Void) {
        self.giveBack = giveBack
    }

    /// The head has come, and is this unless it could not be read.
    func begin(_ handle: CurlHandle, with lines: CurlHead? = nil) {
        head.complete(Result { () throws(ServiceError) in try CurlAnswer(handle, lines).response(with: .empty) })
    }

    /// The transfer has ended.
    func end(_ ending: Result<Void, ServiceError>, of handle: CurlHandle) {
        if head.outcome == nil {
            if case .failure(let error) = ending { head.complete(.failure(error)) } else { begin(handle) }
        }
        giveBack(handle)
        buffer.end(ending)
    }
}
#endif
