#if os(Linux)
extension CurlTransport.Options.Proxy: CustomStringConvertible, CustomReflectable {
    /// Which proxy it is, without the user and the password that its URL may hold.
    public var description: String {
        switch self {
        case .environment: "environment"
        case .none: "none"
        case .url(let url): Self.withoutCredentials(url)
        }
    }

    /// Shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["proxy": description]) }

    /// A password may hold any character, even those that end it by the rules: the last `@` is the end for certain.
    private static func withoutCredentials(_ url: String) -> String {
        guard let at = url.lastIndex(of: "@") else { return url }
        let host = url[url.index(after: at)...]
        guard let scheme = url[..<at].firstRange(of: "://") else { return String(host) }
        return String(url[..<scheme.upperBound] + host)
    }
}
#endif
