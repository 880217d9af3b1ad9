import ErrandFleet

/// Returns the kind of error that a store threw; `nil` if it threw none.
func storeProblem<Value>(_ body: () async throws -> Value) async -> FleetStoreError.Kind? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? FleetStoreError)?.kind
    }
}

/// Writes, and returns the revision.
func written(
    _ bytes: [UInt8], to key: String, replacing revision: FleetRevision? = nil, in store: any FleetStore
) async throws -> FleetRevision {
    guard case .written(let next?) = try await store.write(bytes, to: key, replacing: revision) else {
        throw NotReady(what: "the record has another revision")
    }
    return next
}

/// Reads a watch to its end, and returns the kind of error that has ended it.
func endProblem(
    of watch: inout AsyncThrowingStream<FleetRecord?, any Error>.AsyncIterator,
    isolation: isolated (any Actor)? = #isolation
) async -> FleetStoreError.Kind? {
    do {
        while try await watch.next(isolation: isolation) != nil {}
        return nil
    } catch {
        return (error as? FleetStoreError)?.kind
    }
}

struct NotReady: Error {
    let what: String
}
