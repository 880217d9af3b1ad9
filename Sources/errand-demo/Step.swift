import Errand

/// One feature of the library, shown and checked.
struct Step: Sendable {
    /// What a step found instead of the expected result.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let title: String
    /// What the step asks the library to do.
    let asked: String
    /// Does it, and returns a description of the result.
    let run: @Sendable (Scene) async throws -> String
}

extension Step {
    /// Fails the step unless the condition is true.
    static func expect(_ isSo: Bool, _ otherwise: @autoclosure () -> String) throws {
        guard isSo else { throw Failure(description: otherwise()) }
    }

    /// Returns the error that the operation throws; fails the step if it throws none.
    static func failure<Value: Sendable>(
        of operation: @Sendable () async throws(ServiceError) -> Value
    ) async throws -> ServiceError {
        let value: Value
        do throws(ServiceError) {
            value = try await operation()
        } catch {
            return error
        }
        throw Failure(description: "it should have failed, and came back with \(value)")
    }
}
