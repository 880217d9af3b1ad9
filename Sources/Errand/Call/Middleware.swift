/// A user's layer of the pipeline. It may change the request or the response, or return a response of its own.
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
/// It may throw any error. An error that is not a `ServiceError` becomes `.transport` of the kind `.middleware`; so
/// does a `CancellationError`, unless the call was canceled. It must return promptly after cancellation. A status that
/// is not 2xx is a value here, not an error.
public protocol Middleware: Sendable {
    /// Passes a request to the rest of the pipeline, down to the transport, and returns the response.
    typealias Next = @Sendable (HTTPRequest, CallContext) async throws(ServiceError) -> HTTPResponse

    /// Handles a request. Call `next` to pass it on.
    ///
    /// A conformance that calls `next` in a child task, such as one that sends a second request if the first is slow,
    /// writes `next: @escaping Next`. No call of `next` may continue after this function has returned.
    func intercept(
        _ request: HTTPRequest, _ context: CallContext, next: @escaping Next
    ) async throws -> HTTPResponse
}

/// A layer of the library, with typed errors.
protocol Layer: Sendable {
    typealias Next = Middleware.Next

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: @escaping Next) async throws(ServiceError)
        -> HTTPResponse
}
