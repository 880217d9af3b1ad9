package import Errand

/// Returns the kind of error that a persistence threw while it waited; `nil` if it threw none.
package func waitProblem(_ body: () async throws -> Void) async -> TokenPersistenceError.Kind? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? TokenPersistenceError)?.kind
    }
}

/// Returns the kind of error that a persistence threw; `nil` if it threw none.
package func problem<Value>(_ body: () async throws -> Value) async -> TokenPersistenceError.Kind? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? TokenPersistenceError)?.kind
    }
}
