import Errand
import ErrandTesting
import Testing

/// A scripted transport whose mismatches fail the test.
func scripted() -> ScriptedTransport {
    ScriptedTransport()
}

extension Instant {
    /// Creates an instant from a number of milliseconds.
    static func ms(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }
}

/// Returns the kind of error that a persistence threw while it waited; `nil` if it threw none.
func waitProblem(_ body: () async throws -> Void) async -> TokenPersistenceError.Kind? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? TokenPersistenceError)?.kind
    }
}

/// Returns the kind of error that a persistence threw; `nil` if it threw none.
func problem<Value>(_ body: () async throws -> Value) async -> TokenPersistenceError.Kind? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? TokenPersistenceError)?.kind
    }
}
