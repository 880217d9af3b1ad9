/// The issuer of Microsoft's servers for the users of many organizations: the document is read from `common`,
/// `organizations` or `consumers`, and says `{tenantid}` in its place. An ID token has the tenant of its user there.
enum TenantIssuer {
    private static let placeholder = "{tenantid}"
    private static let ofMany: Set<Substring> = ["common", "organizations", "consumers"]

    /// Whether the issuer in a document stands for that of many tenants, whose document was asked for.
    static func isOfMany(_ found: String, asked: String) -> Bool {
        let (found, asked) = (parts(found), parts(asked))
        guard found.count == asked.count else { return false }
        let others = zip(found, asked).filter { $0 != $1 }
        return others.count == 1 && others[0].0 == placeholder && ofMany.contains(others[0].1)
    }

    /// Whether an ID token of that tenant has the issuer.
    static func matches(_ found: String?, _ issuer: String, tenant: String?) -> Bool {
        if found == issuer { return !issuer.utf8.contains(UInt8(ascii: "{")) }
        // A tenant is the name of a part of a path, and nothing that would make another one of it.
        guard let found, let tenant, !tenant.isEmpty,
            tenant.utf8.allSatisfy({
                FieldParser.isDigit($0) || (0x61...0x7A).contains($0.asciiLowercased) || $0 == 0x2D
            })
        else { return false }
        let parts = parts(issuer)
        return parts.contains { $0 == placeholder }
            && parts.map { $0 == placeholder ? tenant : String($0) }.joined(separator: "/") == found
    }

    private static func parts(_ issuer: String) -> [Substring] {
        issuer.split(separator: "/", omittingEmptySubsequences: false)
    }
}
