/// How long the parts of an exchange with a server took, as far as the transport can tell.
///
/// All times count from the moment at which the transport began. Of an answer that is handed over as a stream, it is
/// what was known when its head was there.
public struct Timings: Sendable, Hashable {
    /// When the name of the host had been looked up; `nil` if a connection was used again.
    public var lookedUp: Duration?
    /// When the connection was made; `nil` if one was used again.
    public var connected: Duration?
    /// When the connection was encrypted; `nil` if one was used again, or nothing was encrypted.
    public var encrypted: Duration?
    /// When the first byte of the answer came.
    public var firstByte: Duration
    /// When all was over.
    public var total: Duration
    /// How many bytes were sent, the head included; `nil` if the transport cannot tell.
    public var bytesSent: Int?
    /// How many bytes came, as they were on the wire: compressed, the head included; `nil` if the transport cannot
    /// tell.
    public var bytesReceived: Int?
    /// The version of HTTP that was used, like `1.1` or `2`; `nil` if that is not known.
    public var httpVersion: String?
    /// Whether a connection was used that had served another exchange before; `nil` if the transport cannot tell.
    public var isConnectionReused: Bool?

    /// Makes timings. Without a moment at which a connection was made, one was used again.
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

    /// Makes the timings of a transport that knows when the answer came, and nothing of its connection.
    public init(firstByte: Duration, total: Duration) {
        self.firstByte = firstByte
        self.total = total
    }
}

extension Timings: CustomStringConvertible {
    /// The steps in their order: `connected after 2 ms, encrypted after 9 ms, first byte after 31 ms`.
    public var description: String {
        var steps: [String] = []
        if let lookedUp { steps.append("looked up after \(lookedUp.displayText)") }
        if let connected { steps.append("connected after \(connected.displayText)") }
        if let encrypted { steps.append("encrypted after \(encrypted.displayText)") }
        if isConnectionReused == true { steps.append("connection used again") }
        steps.append("first byte after \(firstByte.displayText)")
        return steps.joined(separator: ", ")
    }
}
