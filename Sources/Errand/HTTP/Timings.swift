/// The timings of an exchange with a server, as far as the transport can measure them.
///
/// All durations count from the moment at which the transport began. For a streamed response, the timings hold what was
/// known when the head had arrived.
public struct Timings: Sendable, Hashable {
    /// When the host name was resolved; `nil` if a connection was reused.
    public var lookedUp: Duration?
    /// When the connection was established; `nil` if a connection was reused.
    public var connected: Duration?
    /// When the TLS handshake was complete; `nil` if a connection was reused, or the connection is not encrypted.
    public var encrypted: Duration?
    /// When the first byte of the response arrived.
    public var firstByte: Duration
    /// When the exchange was over.
    public var total: Duration
    /// The number of bytes sent, including the head; `nil` if the transport does not know.
    public var bytesSent: Int?
    /// The number of bytes received on the wire: compressed, including the head; `nil` if the transport does not know.
    public var bytesReceived: Int?
    /// The HTTP version, `1.1`, `2` or `3` for instance; `nil` if it is not known.
    public var httpVersion: String?
    /// Whether the exchange reused a connection; `nil` if the transport does not know.
    public var isConnectionReused: Bool?

    /// Creates timings. If `connected` is `nil`, the connection counts as reused.
    public init(
        lookedUp: Duration? = nil, connected: Duration? = nil, encrypted: Duration? = nil, firstByte: Duration,
        total: Duration, bytesSent: Int, bytesReceived: Int, httpVersion: String? = nil
    ) {
        self.lookedUp = lookedUp
        self.connected = connected
        self.encrypted = encrypted
        self.firstByte = firstByte
        self.total = total
        self.bytesSent = bytesSent
        self.bytesReceived = bytesReceived
        self.httpVersion = httpVersion
        isConnectionReused = connected == nil
    }

    /// Creates the timings of a transport that knows nothing about its connections.
    public init(firstByte: Duration, total: Duration) {
        self.firstByte = firstByte
        self.total = total
    }
}

extension Timings: CustomStringConvertible {
    /// The HTTP version and the steps in order:
    /// `HTTP/2, connected after 2 ms, encrypted after 9 ms, first byte after 31 ms`.
    public var description: String {
        var steps = httpVersion.map { ["HTTP/\($0)"] } ?? []
        if let lookedUp { steps.append("looked up after \(lookedUp.displayText)") }
        if let connected { steps.append("connected after \(connected.displayText)") }
        if let encrypted { steps.append("encrypted after \(encrypted.displayText)") }
        if isConnectionReused == true { steps.append("connection reused") }
        steps.append("first byte after \(firstByte.displayText)")
        return steps.joined(separator: ", ")
    }
}
