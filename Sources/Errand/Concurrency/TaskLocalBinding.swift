extension TaskLocal {
    /// Runs an operation with this value. Unlike `withValue`, it keeps the type of the error.
    func bound<Result, Failure: Error>(
        to value: Value, isolation: isolated (any Actor)? = #isolation,
        _ operation: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try await withValue(value) { () async -> Swift.Result<Result, Failure> in
            do throws(Failure) {
                return .success(try await operation())
            } catch {
                return .failure(error)
            }
        }.get()
    }
}
