/// The servers of a client, in the order of its list.
struct ServerList: Sendable {
    /// A base URL, below which all paths are.
    struct Address: Sendable, Hashable {
        let origin: Origin
        /// The path of the base URL, without a slash at its end.
        let basePath: String

        init(_ text: String) throws(ServiceError) {
            let url = try HTTPURL(text)
            guard url.query == nil, !text.contains("#") else {
                throw .badURL(text, "a base URL has no query and no fragment; use `parameters`")
            }
            origin = url.origin
            var path = PathSegments.removingDots(url.path)
            while path.hasSuffix("/") { path.removeLast() }
            basePath = path
        }

        /// The base URL.
        var text: String { origin.description + basePath }

        /// Returns the part of the URL's path below the base; `nil` if it is not below it.
        func remainder(of url: HTTPURL) -> Substring? {
            guard url.origin == origin else { return nil }
            guard !basePath.isEmpty else { return Substring(url.path) }
            guard url.path.hasPrefix(basePath) else { return nil }
            let rest = Substring(url.path.utf8.dropFirst(basePath.utf8.count))
            return rest.isEmpty || rest.utf8.first == UInt8(ascii: "/") ? rest : nil
        }
    }

    /// More would make a choice slow, and are likely to be a mistake.
    static let most = 64

    let addresses: [Address]

    init(_ baseURLs: [String]) throws(ServiceError) {
        var addresses: [Address] = []
        for text in baseURLs {
            let address = try Address(text)
            if addresses.contains(where: { $0.origin == address.origin }) {
                throw .badSetting("the server \(HTTPSyntax.quoted(text)), whose host and port are in the list already")
            }
            addresses.append(address)
        }
        guard addresses.count <= Self.most else {
            throw .badSetting("a list of \(addresses.count) servers; it may have \(Self.most)")
        }
        self.addresses = addresses
    }

    /// The client's own.
    var first: Address { addresses[0] }

    /// Returns the server to which that URL belongs; `nil` if it belongs to none.
    func index(of url: HTTPURL) -> Int? {
        addresses.firstIndex { $0.origin == url.origin }
    }

    /// Returns the server with that base URL; `nil` if there is none.
    func index(named text: String) -> Int? {
        // What is no base URL is the name of none, and the error says which there are.
        guard let address = try? Address(text) else { return nil }
        return addresses.firstIndex(of: address)
    }

    /// Whether a request for that URL may go to any server: it is below the base URL of the first.
    func isForAny(_ url: HTTPURL) -> Bool { first.remainder(of: url) != nil }

    /// Returns the same URL at another server; `nil` if it is not below the base URL of the first.
    func url(_ url: HTTPURL, at index: Int) -> HTTPURL? { self.url(url, from: 0, to: index) }

    /// Returns the same URL at the first server, if it is below the base URL of one.
    func ownURL(for url: HTTPURL) -> HTTPURL? {
        index(of: url).flatMap { self.url(url, from: $0, to: 0) }
    }

    private func url(_ url: HTTPURL, from source: Int, to index: Int) -> HTTPURL? {
        guard let rest = addresses[source].remainder(of: url) else { return nil }
        guard index != source else { return url }
        let path = addresses[index].basePath + rest
        return HTTPURL(
            origin: addresses[index].origin, path: path.isEmpty ? "/" : path, query: url.query,
            secretNames: url.secretNames)
    }
}
