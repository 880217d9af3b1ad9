#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

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
            longestPause: configuration.longestServerPause,
            secretNames: configuration.secretNames.isEmpty ? nil : builder.secretNames)
        let connectivity = configuration.connectivity ?? transport.connectivity
        var layers: [any Layer] = [
            Retry(quota: RetryQuota()),
            OnlineCheck(connectivity: connectivity, rule: configuration.offline),
        ]
        if let tokens = configuration.tokens { layers.append(Replay(tokens: tokens)) }
        layers += [
            Redirects(
                secretNames: builder.secretNames, allowsCleartext: configuration.allowsCleartext),
            Admission(limiter: limiter, tokens: configuration.tokens),
        ]
        pipeline = Pipeline.folding(
            perCall: configuration.perCall, layers: layers, perAttempt: configuration.perAttempt, into: sender.send)
    }

    func send(
        _ request: HTTPRequest, as call: Call, signedFor session: UUID?
    ) async throws(ServiceError) -> HTTPResponse {
        let context = CallContext(call: call, session: session)
        // The user's middlewares may wait for whatever they like; our own layers enter a scope where they wait.
        guard hasMiddlewares else { return try await pipeline(request, context) }
        return try await call.runInChild { () async throws(ServiceError) in try await self.pipeline(request, context) }
    }
}
