/// The way of one send to one of several servers.
protocol SendWay: AnyObject, Sendable {
    /// Leads the request to its server, when it has its permit. Throws if none may be asked.
    func point(_ request: inout HTTPRequest) throws(ServiceError)
    /// Notes that the request is given to the transport.
    func noteSent(_ request: HTTPRequest)
    /// The request that was given to the transport; `nil` if none was.
    var sent: HTTPRequest? { get }
    /// Whether it was canceled because another request has brought the response.
    var isLost: Bool { get }
    /// Notes that the head of the response has arrived.
    func noteHead(at instant: Instant)
    /// Whether a pause that its server asks for stops only that one, because there are others.
    var canPause: Bool { get }
}
