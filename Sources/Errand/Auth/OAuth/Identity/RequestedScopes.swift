extension OAuth {
    /// Returns the scopes that a request asks for: those that were passed as such, and those of a parameter `scope`.
    /// `openid` asks for an ID token wherever it stands, so it must be checked wherever it stands.
    ///
    /// - Parameters:
    ///   - scopes: The scopes that were passed.
    ///   - own: The parameters of the request, which replace those of every request.
    func requestedScopes(_ scopes: [String], in own: QueryItems...) -> [String] {
        func named(in items: [QueryItems.Item]) -> [String] {
            items.filter { $0.name == "scope" }.flatMap { $0.value.split(separator: " ").map(String.init) }
        }
        let items = own.flatMap(\.items)
        return scopes + named(in: items.contains { $0.name == "scope" } ? items : parameters.items)
    }
}
