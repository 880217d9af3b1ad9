#if URLSession || canImport(Darwin)
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension Timings {
    /// Creates the timings that Foundation has measured; `nil` if they contain no response. On Linux it measures
    /// nothing.
    init?(_ metrics: URLSessionTaskMetrics) {
        let start = metrics.taskInterval.start
        // An exchange that was repeated has several transactions; the last one has the response.
        guard let last = metrics.transactionMetrics.last, let firstByte = last.responseStartDate else { return nil }
        func moment(_ date: Date?) -> Duration? {
            last.isReusedConnection ? nil : date.map { .seconds($0.timeIntervalSince(start)) }
        }
        self.init(
            lookedUp: moment(last.domainLookupEndDate),
            // Foundation's end of the connection phase includes the TLS handshake.
            connected: moment(last.secureConnectionStartDate ?? last.connectEndDate),
            encrypted: moment(last.secureConnectionEndDate), firstByte: .seconds(firstByte.timeIntervalSince(start)),
            total: .seconds(metrics.taskInterval.duration),
            bytesSent: Int(last.countOfRequestHeaderBytesSent + last.countOfRequestBodyBytesSent),
            bytesReceived: Int(last.countOfResponseHeaderBytesReceived + last.countOfResponseBodyBytesReceived),
            httpVersion: Self.version(last.networkProtocolName))
        isConnectionReused = last.isReusedConnection
    }

    /// Returns the HTTP version for its ALPN name.
    private static func version(_ name: String?) -> String? {
        switch name {
        case "http/1.0": "1.0"
        case "http/1.1": "1.1"
        case "h2": "2"
        case "h3": "3"
        default: nil
        }
    }
}
#endif
