import Errand

/// Returns a name for how a call ended; results are counted by these names.
func outcomeName(of result: Result<Int, ServiceError>) -> String {
    switch result {
    case .success: "value"
    case .failure(.cancelled): "cancelled"
    case .failure(.timedOut(let timeout)): timeout.bound == .deadline ? "timed_out" : "timed_out_attempt"
    case .failure(.transport(let failure)): "transport_\(failure.kind)"
    case .failure(.rejected): "rejected"
    case .failure(.rateLimited): "rate_limited"
    case .failure(.serverFailure): "server_failure"
    case .failure(.decodingFailed): "decodingFailed"
    case .failure: "other"
    }
}
