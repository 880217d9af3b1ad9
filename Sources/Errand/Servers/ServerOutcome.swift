#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension HTTPResponse {
    /// What the response says about its server.
    func outcome(date: Date, longestPause: Duration) -> ServerHealth.Outcome {
        switch status {
        case 503:
            guard let pause = RetryAfterHeaders.retryAfter(in: headers, date: date) else { return .bad(.refusal) }
            // One that is too long is ignored.
            return pause > .zero && pause <= longestPause ? .pause(pause) : .bad(.refusal)
        case 502, 504: return .bad(.refusal)
        default: return HTTPStatus.meansUnreachable(status) ? .bad(.refusal) : .good
        }
    }
}

extension ServiceError {
    /// What the failure of a request says about the server that was asked.
    var outcome: ServerHealth.Outcome {
        switch self {
        case .timedOut(let timeout):
            switch (timeout.bound, timeout.phase) {
            case (.attempt, .connecting), (.attempt, .waitingForResponse), (.attempt, .receiving),
                (.deadline, .connecting), (.deadline, .waitingForResponse):
                .bad(.silence)
            default: .neutral
            }
        case .transport(let failure):
            switch failure.kind {
            case .refused, .tls, .untrustedCertificate, .malformed: .bad(.silence)
            // A connection that ends between two requests, or turns some of them away, says nothing about its server.
            case .reset: failure.mayHaveReachedServer ? .bad(.silence) : .turnedAway
            case .truncated: .bad(.refusal)
            case .dns, .unreachable: .bad(.noWay)
            default: .neutral
            }
        default: .neutral
        }
    }
}
