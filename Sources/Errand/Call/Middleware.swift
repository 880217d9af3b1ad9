/// A user's own layer of the pipeline: it may change the request or the response, or respond by itself.
///
///     struct Stopwatch: Middleware {
///         func intercept(
///             _ request: HTTPRequest, _ context: CallContext, next: Next
///         ) async throws -> HTTPResponse {
///             let start = context.time.now
///             defer { print(context.endpoint, start.duration(to: context.time.now)) }
///             return try await next(request, context)
///         }
///     }
///
/// It may throw anything; what is not a `ServiceError` becomes `.transport(.middleware)`, a `CancellationError` too,
/// unless the call was cancelled. It must end soon when its task is cancelled. A status that is not 2xx is a value
/// here, not an error.
public protocol Middleware: Sendable {
    /// Hands a request on to the rest of the pipeline, down to the transport, and returns the response.
    typealias Next = @Sendable (HTTPRequest, CallContext) async throws(ServiceError) -> HTTPResponse

    /// Handles a request; `next` hands it on.
    func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse
}

/// A layer of the library's own, with typed errors.
protocol Layer: Sendable {
    typealias Next = Middleware.Next

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: @escaping Next) async throws(ServiceError)
        -> HTTPResponse
}
