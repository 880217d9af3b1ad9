#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Builds requests from endpoints: path, query, common parameters, headers and body, with all checks.
///
/// A class, because every call carries it: copying a struct would retain each of its many fields.
final class RequestBuilder: Sendable {
    /// The servers of the client; there is at least one.
    let servers: ServerList
    /// Where the client's credentials belong.
    let boundary: OriginBoundary
    private let configuration: Configuration
    let secretNames: SecretNames
    /// Whether the client has secret header names of its own.
    private let marksHeaders: Bool
    /// The headers of a call that adds none: for a response that is decoded, and for bytes.
    private let fixedHeaders: (decoded: HTTPHeaders, bytes: HTTPHeaders)
    /// The common parameters as a query, if they are the same for every call.
    private let fixedQuery: (items: [QueryItems.Item], text: String)?

    /// The origin of the first server.
    var origin: Origin { servers.first.origin }

    /// Checks everything that does not change from call to call.
    init(_ configuration: Configuration) throws(ServiceError) {
        servers = try ServerList(configuration.environment.baseURLs)
        if let problem = configuration.problem { throw .badSetting(problem) }
        for server in servers.addresses.dropFirst() where !configuration.cleartext.allowsCredentials(at: server.origin)
        {
            throw .badSetting("the server \(server.text), which is not encrypted; use https, or `cleartextHosts`")
        }
        self.configuration = configuration
        secretNames = SecretNames(adding: configuration.secretNames)
        boundary = OriginBoundary(
            servers.first.origin, servers: Set(servers.addresses.map(\.origin)),
            trusting: try Self.trustedOrigins(configuration), secretNames: secretNames,
            queryKey: Self.queryKey(configuration))
        marksHeaders = !configuration.secretNames.isEmpty
        // Parameters that a query cannot hold may still fit into a body; a call that needs them in the query fails.
        let query = configuration.parametersForEachCall == nil ? try? configuration.parameters.query() : nil
        fixedQuery = query.map { ($0.items, $0.encoded) }
        let accepted = configuration.acceptedContentTypes.filter { !$0.contains("*+") }.joined(separator: ", ")
        var headers: HTTPHeaders = ["Accept": accepted]
        headers.merge(configuration.headers)
        fixedHeaders = (headers, configuration.headers)
    }

    private static func queryKey(_ configuration: Configuration) -> (name: String, value: String)? {
        configuration.credentials.flatMap { $0.place == .query ? ($0.name, $0.value) : nil }
    }

    private static func trustedOrigins(_ configuration: Configuration) throws(ServiceError) -> Set<Origin> {
        var origins: Set<Origin> = []
        for text in configuration.trustedOrigins.sorted() {
            guard let url = try? HTTPURL(reading: text), url.path == "/", url.query == nil, !text.contains("#"),
                configuration.cleartext.allowsCredentials(at: url.origin)
            else {
                let reason = "\(HTTPSyntax.quoted(text)) in `trustedOrigins`; use https and a host, without a path"
                throw .badSetting(reason)
            }
            origins.insert(url.origin)
        }
        return origins
    }

    /// Returns the request of a call. `key` is its idempotency key; `nil` if it has none.
    func request(
        for endpoint: UntypedEndpoint, key: String?, files: BodyFiles
    ) throws(ServiceError) -> HTTPRequest {
        try refuseExposure(of: endpoint)
        let common = commonParameters
        let target = try target(of: endpoint)
        let (query, body) = try queryAndBody(of: endpoint, at: target, adding: common, files: files)
        let server = try server(named: endpoint.ownOptions?.server)
        let path = if let target { target.path } else { try endpoint.path.resolved(below: server.basePath) }
        var headers = headers(of: endpoint, body: body, key: key)
        try endpoint.addConditions(to: &headers)
        let request = HTTPRequest(
            method: endpoint.method,
            url: HTTPURL(
                origin: target?.origin ?? server.origin, path: path, query: query, secretNames: secretNames),
            headers: headers, body: body?.body)
        try request.checkSyntax()
        try endpoint.checkDigests(of: request)
        return request
    }

    /// Returns the server that an endpoint names, or else the first.
    private func server(named name: String?) throws(ServiceError) -> ServerList.Address {
        guard let name else { return servers.first }
        guard let index = servers.index(named: name) else {
            let known = servers.addresses.map(\.text).joined(separator: ", ")
            let reason =
                "\(HTTPSyntax.quoted(Redactor.standard.text(ofURL: name))) is none of the client's servers, \(known)"
            throw .invalidRequest(InvalidRequest(.url, reason))
        }
        return servers.addresses[index]
    }

    /// Returns the URL of the endpoint, if it has one instead of a path. A token belongs to its origin, whatever a
    /// response or a saved position says.
    private func target(of endpoint: UntypedEndpoint) throws(ServiceError) -> HTTPURL? {
        switch endpoint.target {
        case nil: return nil
        case .page(let url):
            guard boundary.isOwn(url.origin) else {
                throw .paging(PagingFault(.otherOrigin, url.origin.description))
            }
            return try place(of: url, for: endpoint)
        case .url(let text):
            let server = try server(named: endpoint.ownOptions?.server)
            let base = HTTPURL(
                origin: server.origin, path: server.basePath + "/", query: nil, secretNames: secretNames)
            let url = try base.resolving(text)
            guard boundary.isOwn(url.origin) else {
                let reason = "\(url.origin) is not the origin of this client, \(origin); create a client for it"
                throw .invalidRequest(InvalidRequest(.url, reason))
            }
            return endpoint.ownOptions?.server == nil ? url : try place(of: url, for: endpoint)
        }
    }

    /// Returns the URL at the first server, so that any may be asked, or at the server that the endpoint names.
    private func place(of url: HTTPURL, for endpoint: UntypedEndpoint) throws(ServiceError) -> HTTPURL {
        guard servers.addresses.count > 1 else { return url }
        let name = endpoint.ownOptions?.server
        let (own, server) = (servers.ownURL(for: url), try server(named: name))
        if let own, let index = servers.addresses.firstIndex(of: server), let url = servers.url(own, at: index) {
            return url
        }
        guard name == nil || url.origin == server.origin else {
            throw .invalidRequest(InvalidRequest(.url, "\(url.origin) is not the server that the call names"))
        }
        return url
    }

    /// What the client adds to the query of each call and may say who asks; `nil` for nothing. What a closure adds to
    /// each call is not known before the call.
    var identityInQuery: String? {
        let key = Self.queryKey(configuration).map { "\($0.name)=\($0.value)" }
        let common = (try? configuration.parameters.query()).flatMap { $0.items.isEmpty ? nil : $0.encoded }
        let parts = [key, common].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: "&")
    }

    private var commonParameters: Parameters {
        guard let ask = configuration.parametersForEachCall else { return configuration.parameters }
        return ask().merged(over: configuration.parameters)
    }

    private func queryAndBody(
        of endpoint: UntypedEndpoint, at target: HTTPURL?, adding common: Parameters, files: BodyFiles
    ) throws(ServiceError) -> (query: String?, body: EncodedBody?) {
        var query = endpoint.query
        if let members = endpoint.ownOptions?.queryValue {
            query.add(try members.query(encodedBy: configuration.encoder))
        }
        var body = endpoint.body
        var forQuery = common
        if case .parameters(let own) = body?.content {
            if endpoint.method.takesParametersInQuery {
                query.items += try own.query().items
                body = nil
            } else {
                forQuery = [:]
            }
        }
        let encodedBody = try body?.encoded(
            by: configuration.encoder, adding: common, files: files, time: configuration.time)
        let key = credentials(of: endpoint, in: .query)
        var added: [QueryItems.Item] = []
        if !forQuery.isEmpty {
            if query.items.isEmpty, target == nil, key == nil, let fixedQuery { return (fixedQuery.text, encodedBody) }
            if let fixedQuery { added = fixedQuery.items } else { added = try forQuery.query().items }
            let own = query.items
            added.removeAll { item in own.contains { $0.name == item.name } }
        }
        if let key, !query.items.contains(where: { $0.name == key.name }) {
            added.removeAll { $0.name == key.name }
            added.append(QueryItems.Item(name: key.name, value: key.value))
        }
        if let target, case .page = endpoint.target { return (target.query(replacing: added), encodedBody) }
        query.items += added
        if let target { return (target.query(replacing: query.items), encodedBody) }
        return (query.items.isEmpty ? nil : query.encoded, encodedBody)
    }

    /// Returns the credentials that the endpoint's calls have there; `nil` if they have none.
    private func credentials(
        of endpoint: UntypedEndpoint, in place: APICredentials.Place
    ) -> APICredentials? {
        guard let credentials = configuration.credentials, credentials.place == place, !endpoint.isAnonymous else {
            return nil
        }
        return credentials
    }

    /// Refuses to send credentials unencrypted to another machine; `allowsCleartext` is not meant for them.
    private func refuseExposure(of endpoint: UntypedEndpoint) throws(ServiceError) {
        guard configuration.credentials != nil, !endpoint.isAnonymous,
            !configuration.cleartext.allowsCredentials(at: origin)
        else { return }
        let reason = "credentials are sent over https or to this machine only, not to \(origin)"
        throw .invalidRequest(InvalidRequest(.cleartext, reason))
    }

    private func headers(of endpoint: UntypedEndpoint, body: EncodedBody?, key: String?) -> HTTPHeaders {
        var headers = endpoint.isDecoded ? fixedHeaders.decoded : fixedHeaders.bytes
        if let body, headers["Content-Type"] == nil || body.override != .client {
            headers["Content-Type"] = body.contentType
        }
        if let key, headers["Idempotency-Key"] == nil { headers.add(name: "Idempotency-Key", value: key) }
        if let credentials = credentials(of: endpoint, in: .header) { headers[credentials.name] = credentials.value }
        if let ask = configuration.headersForEachCall { headers.merge(ask()) }
        headers.merge(endpoint.headers)
        if let body, body.override == .none { headers["Content-Type"] = body.contentType }
        if marksHeaders { headers.hide(secretNames) }
        return headers
    }
}
