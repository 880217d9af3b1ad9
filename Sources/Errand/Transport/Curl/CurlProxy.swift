#if os(Linux)
extension CurlTransport.Options.Proxy: CustomStringConvertible, CustomReflectable {
    /// The proxy, without the user and the password that its URL may contain.
    public var description: String {
        switch kind {
        case .environment: "environment"
        case .none: "none"
        case .url(let url): Self.withoutCredentials(url)
        }
    }

    /// A mirror that shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["proxy": description]) }

    /// A password may contain any character, even those that should end it: only the last `@` certainly ends it.
    private static func withoutCredentials(_ url: String) -> String {
        guard let at = url.lastIndex(of: "@") else { return url }
        let host = url[url.index(after: at)...]
        guard let scheme = url[..<at].firstRange(of: "://") else { return String(host) }
        return String(url[..<scheme.upperBound] + host)
    }
}
#endif
