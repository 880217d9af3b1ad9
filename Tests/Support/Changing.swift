package import Errand

/// Middleware that changes each request.
package struct Changing: Middleware {
    private let change: @Sendable (inout HTTPRequest) throws -> Void

    package init(_ change: @escaping @Sendable (inout HTTPRequest) throws -> Void) {
        self.change = change
    }

    /// Sets a header.
    package init(_ name: String, to value: String?) {
        self.init { $0.headers[name] = value }
    }

    /// Leads requests to that URL.
    package init(to url: String) {
        self.init { $0.url = try HTTPURL(url) }
    }

    package func intercept(
        _ request: HTTPRequest, _ context: CallContext, next: Next
    ) async throws -> HTTPResponse {
        var request = request
        try change(&request)
        return try await next(request, context)
    }
}
