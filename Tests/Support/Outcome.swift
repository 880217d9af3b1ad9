package import Errand

extension Result where Success: Sendable {
    /// Runs the operation and stores its result.
    package init(of operation: () async throws(ServiceError) -> Success) async where Failure == ServiceError {
        do throws(ServiceError) {
            self = .success(try await operation())
        } catch {
            self = .failure(error)
        }
    }
}

extension Result where Failure == ServiceError {
    /// The error, if the result is a failure.
    package var failure: ServiceError? {
        if case .failure(let error) = self { error } else { nil }
    }
}
