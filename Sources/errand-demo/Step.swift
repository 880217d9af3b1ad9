import Errand

/// One thing that the library does, shown and checked.
struct Step: Sendable {
    /// What a step says it saw, if that is not what it should have been.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let title: String
    /// What is asked of the library.
    let asked: String
    /// Does it, and tells what came back.
    let run: @Sendable (Scene) async throws -> String
}

extension Step {
    /// Fails the step unless that is so.
    static func expect(_ isSo: Bool, _ otherwise: @autoclosure () -> String) throws {
        guard isSo else { throw Failure(description: otherwise()) }
    }

    /// The error with which the operation ends; it fails the step if there is none.
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
