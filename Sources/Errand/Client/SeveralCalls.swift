extension APIClient {
    /// Runs calls, at most `limit` at a time, and returns their responses in the order of the endpoints.
    ///
    ///     let lists = try await client.runAll(ids.map { .friends(of: $0) }, atMost: 8)
    ///
    /// The first error cancels the others and is thrown. For a result of each call, see ``results(of:atMost:_:)``.
    ///
    /// - Parameters:
    ///   - endpoints: The calls.
    ///   - limit: How many may run at once. The rate limiter limits how many begin in a time.
    @concurrent
    public nonisolated func runAll<Response>(
        _ endpoints: [Endpoint<Response>], atMost limit: Int
    ) async throws(ServiceError) -> [Response] {
        try await runAll(endpoints, atMost: limit) { [self] in try await run($0) }
    }

    /// Runs an operation for each element, at most `limit` at a time, and returns the values in the order of the
    /// elements: for downloads, uploads, and whatever else takes more than one call.
    ///
    ///     let files = try await client.runAll(names, atMost: 8) { name in
    ///         try await client.download(.get("files/\(name)"), to: name)
    ///     }
    ///
    /// The first error cancels the others and is thrown, once they have ended. Canceling the task cancels all. An error
    /// that is no `ServiceError` becomes `.transport` of the kind `.other`.
    ///
    /// - Parameters:
    ///   - elements: What the operation runs for.
    ///   - limit: How many may run at once.
    ///   - operation: The operation.
    @concurrent
    public nonisolated func runAll<Element: Sendable, Value: Sendable>(
        _ elements: [Element], atMost limit: Int,
        _ operation: @escaping @Sendable (Element) async throws -> Value
    ) async throws(ServiceError) -> [Value] {
        guard limit > 0 else { throw .badSetting("at most \(limit) calls at once; use 1 or more") }
        var error: ServiceError?
        let results = await Self.results(of: elements, atMost: limit, operation) { result in
            guard error == nil, case .failure(let failure) = result else { return true }
            error = failure
            return false
        }
        if let error { throw error }
        var values: [Value] = []
        values.reserveCapacity(results.count)
        for result in results { values.append(try result.get()) }
        return values
    }

    /// Runs an operation for each element, at most `limit` at a time, and returns the results in the order of the
    /// elements. An error ends no other operation.
    ///
    ///     let results = await client.results(of: names, atMost: 8) { name in
    ///         try await client.download(.get("files/\(name)"), to: name)
    ///     }
    ///     for (name, result) in zip(names, results) {
    ///         if case .failure(let error) = result { print(name, error) }
    ///     }
    ///
    /// If the task is canceled, what has not ended is `.cancelled`. With a limit below 1, each is `.invalidRequest`.
    ///
    /// - Parameters:
    ///   - elements: What the operation runs for.
    ///   - limit: How many may run at once.
    ///   - operation: The operation.
    @concurrent
    public nonisolated func results<Element: Sendable, Value: Sendable>(
        of elements: [Element], atMost limit: Int,
        _ operation: @escaping @Sendable (Element) async throws -> Value
    ) async -> [Result<Value, ServiceError>] {
        guard limit > 0 else {
            let error = ServiceError.badSetting("at most \(limit) calls at once; use 1 or more")
            return elements.map { _ in .failure(error) }
        }
        return await Self.results(of: elements, atMost: limit, operation) { _ in true }
    }

    /// Runs an operation for each element, and returns the results in the order of the elements. When `mayGoOn` returns
    /// `false` for a result, the others are canceled.
    private static func results<Element: Sendable, Value: Sendable>(
        of elements: [Element], atMost limit: Int,
        _ operation: @escaping @Sendable (Element) async throws -> Value,
        mayGoOn: (Result<Value, ServiceError>) -> Bool
    ) async -> [Result<Value, ServiceError>] {
        typealias Outcome = (index: Int, result: Result<Value, ServiceError>)
        return await withTaskGroup(of: Outcome.self) { group in
            // What never begins was canceled.
            var results = [Result<Value, ServiceError>](repeating: .failure(.cancelled), count: elements.count)
            var rest = elements.enumerated().makeIterator()
            func beginNext() {
                guard !group.isCancelled, let (index, element) = rest.next() else { return }
                group.addTask {
                    do {
                        return (index, .success(try await operation(element)))
                    } catch {
                        let error = ServiceError(error) {
                            .transport(TransportFailure(.other, "the operation threw \(foreignName(of: $0))"))
                        }
                        return (index, .failure(error))
                    }
                }
            }
            for _ in 0..<min(limit, elements.count) { beginNext() }
            while let outcome = await group.next() {
                results[outcome.index] = outcome.result
                if !mayGoOn(outcome.result) { group.cancelAll() }
                beginNext()
            }
            return results
        }
    }
}
