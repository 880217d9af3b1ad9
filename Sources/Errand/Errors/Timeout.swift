/// Which limit of time was hit, and what the call was doing then.
public struct Timeout: Sendable, Hashable, CustomStringConvertible {
    /// What was limited.
    @nonexhaustive public enum Bound: Sendable, Hashable {
        /// One attempt, by the endpoint's or the client's `timeout`.
        case attempt
        /// The whole call, by its `deadline`.
        case deadline
    }

    /// What was limited.
    public let bound: Bound
    /// The limit that was hit.
    public let limit: Duration
    /// What the call was doing when it was hit.
    public let phase: Phase
    /// Whether the server may have seen the request, and acted on it.
    public let mayHaveReachedServer: Bool

    /// Makes a timeout. Whether the request may have reached the server follows from the phase unless it is said.
    public init(_ bound: Bound, limit: Duration, phase: Phase, mayHaveReachedServer: Bool? = nil) {
        self.bound = bound
        self.limit = limit
        self.phase = phase
        self.mayHaveReachedServer = mayHaveReachedServer ?? phase.comesAfterSending
    }

    /// A sentence for people.
    public var description: String {
        switch bound {
        case .attempt: "The server took longer than \(limit.displayText) (\(phase.displayText)); try again later"
        case .deadline: "The call did not finish within \(limit.displayText) (\(phase.displayText)); try again later"
        }
    }
}

/// What a call is doing.
@nonexhaustive public enum Phase: UInt8, Sendable, Hashable, CaseIterable {
    /// Getting ready: building the request, the user's own middlewares.
    case preparing
    /// Waiting for the network to come back.
    case waitingForNetwork
    /// Waiting in line for a permit of the rate limiter.
    case waitingForPermit
    /// Waiting for a fresh access token.
    case waitingForToken
    /// Waiting before the next attempt.
    case backingOff
    /// Looking up the host, connecting, agreeing on TLS.
    case connecting
    /// Sending the request, or waiting for the first byte of the answer.
    case waitingForResponse
    /// Reading the answer's body.
    case receiving
    /// Decoding the answer.
    case decoding

    var comesAfterSending: Bool { self == .waitingForResponse || self == .receiving || self == .decoding }

    var displayText: String {
        switch self {
        case .preparing: "while it was being prepared"
        case .waitingForNetwork: "while waiting for the network"
        case .waitingForPermit: "while waiting for the rate limit"
        case .waitingForToken: "while waiting for a fresh access token"
        case .backingOff: "while waiting to try again"
        case .connecting: "while connecting"
        case .waitingForResponse: "while waiting for the answer"
        case .receiving: "while receiving the answer"
        case .decoding: "while decoding the answer"
        }
    }
}
