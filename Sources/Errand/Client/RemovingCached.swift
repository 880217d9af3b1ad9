extension APIClient {
    /// Removes what the cache has stored for that call, for all users, so that the next one is not answered from it.
    /// That one may still join an equal request that is under way, if the client shares such requests.
    ///
    ///     await client.removeCached(.friends(of: me.id))
    ///
    /// The URL is that of a call that begins now, with the common parameters of the client. If the endpoint has a name
    /// in the cache, ``Endpoint/cache(key:)``, what is stored under that name is removed. Without a cache, and for a
    /// call that could not be sent, there is nothing to remove.
    @concurrent
    public nonisolated func removeCached<Response>(_ endpoint: Endpoint<Response>) async {
        // A response to a request with a body is not stored. Parameters may be part of the query.
        guard let cache = configuration.cache, endpoint.body?.isParameters ?? true else { return }
        let rules = configuration.rules(for: endpoint.options)
        guard let pipeline = try? pipeline.get(),
            let request = try? pipeline.builder.request(for: endpoint, rules: rules, files: BodyFiles())
        else { return }
        await cache.remove(.resource(CacheKey.Resource(request, name: rules.cache.key)))
    }
}
