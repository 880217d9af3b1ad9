#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Makes requests of endpoints: path, query, common parameters, headers and body, each of them checked.
struct RequestBuilder: Sendable {
    let origin: Origin
    private let basePath: String
    private let configuration: Configuration
    private let accept: String
    /// The common parameters as a query, where they are the same for every call.
    private let fixedQuery: Query?

    /// Checks what does not change from call to call.
    init(_ configuration: Configuration) throws(ServiceError) {
        let text = configuration.environment.baseURL
        let url = try HTTPURL(text)
        guard url.query == nil, !text.contains("#") else {
            throw .badURL(text, "a base URL has no query and no fragment; use `parameters`")
        }
        if let problem = configuration.problem { throw .badSetting(problem) }
        origin = url.origin
        var path = PathSegments.removingDots(url.path)
        while path.hasSuffix("/") { path.removeLast() }
        basePath = path
        self.configuration = configuration
        // Parameters that cannot stand in a query may still do for a body; a call that needs the query tells.
        fixedQuery = configuration.parametersForEachCall == nil ? try? configuration.parameters.query() : nil
        accept = configuration.acceptedContentTypes.filter { !$0.contains("*+") }.joined(separator: ", ")
    }

    func request<Response>(
        for endpoint: Endpoint<Response>, rules: CallRules, isSigned: Bool
    ) throws(ServiceError) -> HTTPRequest {
        let common = commonParameters
        let (query, body) = try queryAndBody(of: endpoint, adding: common)
        var request = HTTPRequest(
            method: endpoint.method,
            url: HTTPURL(origin: origin, path: try endpoint.path.resolved(below: basePath), query: query),
            headers: headers(of: endpoint, body: body?.contentType, key: rules.idempotencyKey))
        request.body = body.map { .bytes($0.data) }
        try HTTPSyntax.check(request)
        try request.checkCleartext(isAllowed: configuration.allowsCleartext, isSigned: isSigned)
        return request
    }

    private var commonParameters: Parameters {
        guard let ask = configuration.parametersForEachCall else { return configuration.parameters }
        return ask().merged(over: configuration.parameters)
    }

    private func queryAndBody<Response>(
        of endpoint: Endpoint<Response>, adding common: Parameters
    ) throws(ServiceError) -> (query: String?, body: (data: Data, contentType: String)?) {
        var query = endpoint.query
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
        if !forQuery.isEmpty {
            var added = fixedQuery
            if added == nil { added = try forQuery.query() }
            let own = query.items
            query.items += added?.items.filter { item in !own.contains { $0.name == item.name } } ?? []
        }
        return (query.items.isEmpty ? nil : query.encoded, try body?.encoded(by: configuration.encoder, adding: common))
    }

    private func headers<Response>(of endpoint: Endpoint<Response>, body contentType: String?, key: String?)
        -> HTTPHeaders
    {
        var own: [HTTPHeaders.Field] = []
        own.reserveCapacity(4)
        if Response.self != Data.self { own.append(HTTPHeaders.Field(name: "Accept", value: accept)) }
        if let contentType { own.append(HTTPHeaders.Field(name: "Content-Type", value: contentType)) }
        if let key { own.append(HTTPHeaders.Field(name: "Idempotency-Key", value: key)) }
        var headers = HTTPHeaders(own)
        headers.merge(configuration.headers)
        if let ask = configuration.headersForEachCall { headers.merge(ask()) }
        headers.merge(endpoint.headers)
        if !configuration.secretHeaders.isEmpty { headers.hide(configuration.secretHeaders) }
        return headers
    }
}
