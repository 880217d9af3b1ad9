#if os(Linux)
import CCurl
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a transfer has brought.
struct CurlAnswer {
    private let transfer: OpaquePointer

    init(_ handle: CurlExchange.Handle) {
        transfer = handle.transfer
    }

    /// The answer with the body that was collected, which can be had once.
    func response() throws(ServiceError) -> HTTPResponse {
        var length = 0
        let body = ccurl_transfer_take_body(transfer, &length)
        let data = body.map { Data(bytesNoCopy: $0, count: length, deallocator: .free) } ?? Data()
        return try response(with: .bytes(data))
    }

    /// The answer with that body.
    func response(with body: HTTPBody) throws(ServiceError) -> HTTPResponse {
        let lines = ccurl_transfer_head(transfer)
        guard lines.is_complete else {
            throw .transport(TransportFailure(.truncated, "the head of the answer broke off"))
        }
        guard let head = CurlHead(lines) else {
            throw .transport(TransportFailure(.malformed, "the answer does not begin with a status line"))
        }
        // What ends after an interim response has not been answered.
        guard !head.isInterim else {
            throw .transport(TransportFailure(.truncated, "the connection ended before the response"))
        }
        var response = HTTPResponse(status: head.status, headers: head.headers, body: body)
        response.timings = timings
        return response
    }

    private var timings: Timings {
        let raw = ccurl_transfer_timings(transfer)
        // libcurl gives the moments of the connection that was made before, too.
        let isNew = raw.new_connections > 0
        func moment(_ microseconds: Int64) -> Duration? {
            isNew && microseconds > 0 ? .microseconds(microseconds) : nil
        }
        return Timings(
            lookedUp: moment(raw.looked_up), connected: isNew ? .microseconds(raw.connected) : nil,
            encrypted: moment(raw.encrypted), firstByte: .microseconds(raw.first_byte), total: .microseconds(raw.total),
            bytesSent: Int(raw.sent), bytesReceived: Int(raw.received), httpVersion: Self.version(raw.http_version))
    }

    private static func version(_ number: Int) -> String? {
        switch number {
        case CCURL_HTTP_VERSION_1_0: "1.0"
        case CCURL_HTTP_VERSION_1_1: "1.1"
        case CCURL_HTTP_VERSION_2_0: "2"
        case CCURL_HTTP_VERSION_3, CCURL_HTTP_VERSION_3ONLY: "3"
        default: nil
        }
    }
}
#endif
