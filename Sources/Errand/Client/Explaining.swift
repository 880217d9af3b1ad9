extension APIClient {
    /// Returns a description of what would be sent and by which rules: a redacted cURL command, the limits, whether and
    /// why the call may be retried, and what the cache would do. It looks at the files of a body, and waits for their
    /// disk.
    public nonisolated func explain<Response>(_ endpoint: Endpoint<Response>) -> String {
        let rules = configuration.rules(for: endpoint.options)
        do throws(ServiceError) {
            if let problem = rules.problem { throw .badSetting(problem) }
            let pipeline = try pipeline.get()
            if let problem = limiter.problem(withCost: rules.permits) { throw .badSetting(problem) }
            let files = BodyFiles(lookingAt: endpoint.body?.files ?? [])
            let request = try pipeline.builder.request(for: endpoint, rules: rules, files: files)
            try request.checkCleartext(isAllowed: configuration.allowsCleartext, isSigned: configuration.signs(rules))
            return Explanation(
                request: request, body: endpoint.body, rules: rules, configuration: configuration,
                cache: pipeline.cacheOutlook(for: request, rules: rules)
            ).text
        } catch {
            return "Nothing would be sent. \(error.detail)"
        }
    }
}
