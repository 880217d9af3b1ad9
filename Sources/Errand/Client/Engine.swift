/// What makes requests of endpoints and sends them through all layers: put together once, when the client is made.
///
/// A class, because every call takes it along: of a value each of its many parts would be counted.
final class Engine: Sendable {
    let builder: RequestBuilder
    private let pipeline: Next
    private let hasMiddlewares: Bool

    init(
        _ configuration: Configuration, limiter: RateLimiter, transport: any Transport
    ) throws(ServiceError) {
        builder = try RequestBuilder(configuration)
        hasMiddlewares = !configuration.perCall.isEmpty || !configuration.perAttempt.isEmpty
        let sender = Sender(
            transport: transport, limiter: limiter, origin: builder.origin,
            bodyLimit: configuration.responseByteLimit, allowsCleartext: configuration.allowsCleartext,
            secretHeaders: configuration.secretHeaders)
        let connectivity = configuration.connectivity ?? transport.connectivity
        var layers: [any Layer] = [
            Retry(quota: RetryQuota()),
            OnlineCheck(connectivity: connectivity, rule: configuration.offline),
            RateLimiting(limiter: limiter),
        ]
        if let tokens = configuration.tokens { layers.append(Authentication(tokens: tokens, limiter: limiter)) }
        layers.append(Redirects(limiter: limiter, secretHeaders: configuration.secretHeaders))
        pipeline = Pipeline.folding(
            perCall: configuration.perCall, layers: layers, perAttempt: configuration.perAttempt, into: sender.send)
    }

    func send(_ request: HTTPRequest, as call: Call) async throws(ServiceError) -> HTTPResponse {
        let context = CallContext(call: call)
        // The user's middlewares may wait for whatever they like; our own layers take a leash where they wait.
        guard hasMiddlewares else { return try await pipeline(request, context) }
        return try await call.leashed { () async throws(ServiceError) in try await self.pipeline(request, context) }
    }
}
