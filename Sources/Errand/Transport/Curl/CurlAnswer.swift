#if os(Linux)
import CCurl
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The response that a transfer has brought.
struct CurlAnswer {
    private let transfer: OpaquePointer
    private let known: CurlHead?

    /// Creates the response of that transfer, whose head may have been read before.
    init(_ handle: CurlHandle, _ head: CurlHead? = nil) {
        transfer = handle.transfer
        known = head
    }

    /// Returns the response with the body that was collected, which can be taken once.
    func response() throws(ServiceError) -> HTTPResponse {
        var length = 0
        let body = ccurl_transfer_take_body(transfer, &length)
        let data = body.map { Data(bytesNoCopy: $0, count: length, deallocator: .free) } ?? Data()
        return try response(with: .bytes(data))
    }

    /// Returns the response with that body.
    func response(with body: HTTPBody) throws(ServiceError) -> HTTPResponse {
        let lines = ccurl_transfer_head(transfer)
        guard lines.is_complete else {
            throw .transport(TransportFailure(.truncated, "the head of the response broke off"))
        }
        guard let head = known ?? CurlHead(lines) else {
            throw .transport(TransportFailure(.malformed, "the response does not begin with a status line"))
        }
        // An interim (1xx) response is followed by another; this one was not.
        guard !head.isInterim else {
            throw .transport(TransportFailure(.truncated, "the connection ended before the response"))
        }
        var response = HTTPResponse(status: head.status, headers: head.headers, body: body)
        response.timings = timings
        return response
    }

    private var timings: Timings {
        let raw = ccurl_transfer_timings(transfer)
        // On a kept connection libcurl gives the times at which that was made.
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
