extension APIClient {
    /// Refuses new calls, and shuts down the client once its running calls have finished, at the latest after `limit`.
    ///
    ///     await client.shutdown(within: .seconds(10))
    ///
    /// New calls fail at once, as after ``shutdown()``. Running calls continue, with their retries, redirects and the
    /// token refreshes that they need; so do streams. Those that still run after `limit` are canceled, as by
    /// ``shutdown()``. If this task is canceled or ``shutdown()`` is called in the meantime, they are canceled then.
    ///
    /// A list that is read page by page makes a call for each page, and an event stream one for each connection: they
    /// end with the current one.
    ///
    /// It waits for every call to end, so the client's own middleware must not wait for it.
    public func shutdown(within limit: Duration) async {
        let time = configuration.time
        await calls.finish(until: time.now.advanced(by: limit), time: time)
        await shutdown()
    }
}
