/// The time limit that was exceeded, and the phase of the call at that moment.
public struct Timeout: Sendable, Hashable, CustomStringConvertible, ErrorPayload {
    /// The kinds of time limits.
    @nonexhaustive public enum Bound: Sendable, Hashable {
        /// One send, during which nothing arrived or left for as long as the endpoint's or the client's `timeout`.
        case attempt
        /// The whole call, limited by its `deadline`.
        case deadline
        /// The refresh of the access token that the call waited for, limited by the `refreshTimeout` of its store.
        case refresh
        /// A sign-in, limited by its `within`, or by the lifetime of the code that the user enters on another device.
        case signIn
    }

    /// The kind of limit.
    public let bound: Bound
    /// The limit.
    public internal(set) var limit: Duration
    /// The phase of the call when the limit was exceeded.
    public let phase: Phase
    /// Whether the server may have received the request, and acted on it.
    public var mayHaveReachedServer: Bool { call.mayHaveReachedServer }
    var call: FailedCall

    /// Creates a timeout. By default the phase determines whether the request may have reached the server.
    public init(_ bound: Bound, limit: Duration, phase: Phase, mayHaveReachedServer: Bool? = nil) {
        self.bound = bound
        self.limit = limit
        self.phase = phase
        call = FailedCall(mayHaveReachedServer: mayHaveReachedServer ?? phase.comesAfterSending)
    }

    /// What happened, in words for developers.
    public var description: String {
        switch bound {
        case .attempt where phase == .receiving:
            "The server sent nothing for \(limit.displayText) (\(phase.displayText)); try again later"
        case .attempt: "The server took longer than \(limit.displayText) (\(phase.displayText)); try again later"
        case .refresh: "The access token was not refreshed within \(limit.displayText); try again later"
        case .signIn: "The sign-in was not completed within \(limit.displayText); sign in again"
        case .deadline: "The call did not finish within \(limit.displayText) (\(phase.displayText)); try again later"
        }
    }
}

/// The phase of a call.
@nonexhaustive public enum Phase: UInt8, Sendable, Hashable, CaseIterable {
    /// Preparing: building the request, or running your middleware.
    case preparing
    /// Waiting for the network to come back.
    case waitingForNetwork
    /// Waiting until fewer requests of the client are under way. See ``Configuration/concurrency``.
    case waitingForOthers
    /// Waiting in the queue for a permit of the rate limiter.
    case waitingForPermit
    /// Waiting for a new access token.
    case waitingForToken
    /// Waiting before the next attempt.
    case backingOff
    /// Waiting in the transport's queue, because all connections to the server are in use. No timeout runs.
    case waitingForConnection
    /// Resolving the host name, connecting, or negotiating TLS.
    case connecting
    /// Sending the request, or waiting for the first byte of the response.
    case waitingForResponse
    /// Receiving the body of the response.
    case receiving
    /// Decoding the response. ``FastJSONDecoder`` stops soon after the call ends; other decoders finish first.
    case decoding

    var comesAfterSending: Bool { self == .waitingForResponse || self == .receiving || self == .decoding }

    var displayText: String {
        switch self {
        case .preparing: "while it was being prepared"
        case .waitingForNetwork: "while waiting for the network"
        case .waitingForOthers: "while waiting for other requests"
        case .waitingForPermit: "while waiting for the rate limit"
        case .waitingForToken: "while waiting for a fresh access token"
        case .backingOff: "while waiting to try again"
        case .waitingForConnection: "while waiting for a free connection"
        case .connecting: "while connecting"
        case .waitingForResponse: "while waiting for the response"
        case .receiving: "while receiving the response"
        case .decoding: "while decoding the response"
        }
    }
}
