extension APIClient {
    /// Opens up to that many connections to the client's server before they are needed, so that the first calls do not
    /// wait for the lookup of its name and for TLS.
    ///
    ///     try await client.warmUp(connections: 4)
    ///
    /// For each, a `HEAD` request goes to the base URL, without a token and ``Configuration/credentials``. It takes a
    /// permit of the rate limiter like any other. Whatever the server responds, the connection is kept and used for the
    /// calls that follow. A request that begins when another has ended uses its connection, and over HTTP/2 they share
    /// one, so one is enough. Of several servers, the one that a call would ask gets them.
    ///
    /// Throws if there was no response, as a call would, without a retry.
    public nonisolated func warmUp(connections: Int = 1) async throws(ServiceError) {
        guard connections > 0 else { throw .badSetting("\(connections) connections to open; use 1 or more") }
        // With the header, equal calls share no request, and nothing is stored.
        let endpoint = Endpoint<NoContent>.head("", headers: ["Cache-Control": "no-store"])
            .authentication(.none).retry(.never).redirects(.never)
        _ = try await runAll(Array(0..<connections), atMost: connections) { [self] _ in
            do throws(ServiceError) {
                try await run(endpoint)
            } catch {
                guard error.rejection != nil else { throw error }
            }
        }
    }
}
