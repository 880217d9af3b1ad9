extension HTTPURL {
    /// Returns the query with those parameters, which replace parameters with the same names: a server often repeats
    /// the parameters of the request in its next URL, and the client's own must be neither duplicated nor out of date.
    func query(replacing items: [QueryItems.Item]) -> String? {
        let kept = query(without: Set(items.map(\.name)))
        guard !items.isEmpty else { return kept }
        let added = QueryItems(items).encoded
        guard let kept, !kept.isEmpty else { return added }
        return "\(kept)&\(added)"
    }

    /// Returns the URL without the parameters with those names.
    func removing(_ names: Set<String>) -> HTTPURL {
        guard !names.isEmpty else { return self }
        return HTTPURL(origin: origin, path: path, query: query(without: names), secretNames: secretNames)
    }

    /// The rest stays as it was written: for the server it may be signed text.
    private func query(without names: Set<String>) -> String? {
        guard let query, !names.isEmpty else { return query }
        let kept = query.split(separator: "&", omittingEmptySubsequences: false).filter { pair in
            let name = pair.prefix { $0 != "=" }.replacing("+", with: " ")
            return !names.contains(PercentEncoding.decode(name))
        }
        return kept.isEmpty ? nil : kept.joined(separator: "&")
    }
}
