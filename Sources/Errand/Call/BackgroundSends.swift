#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A request that is sent beside the calls.
struct BackgroundSend: Sendable {
    let request: HTTPRequest
    let path: EndpointPath
    var rules: CallRules
    /// The session that signs it; `nil` if none does.
    var session: UUID?
    var hasLeftOrigin = false
    var isRedirected = false
    var pause = Duration.zero
    /// The layers that it goes through; `nil` for all of a transmission.
    var layers: Middleware.Next?

    init(_ request: HTTPRequest, path: EndpointPath, rules: CallRules) {
        (self.request, self.path, self.rules) = (request, path, rules)
    }

    /// Creates a request like that of a call, but without its deadline, for which nobody waits.
    init(_ request: HTTPRequest, like context: CallContext) {
        let transmission = context.transmission
        self.init(request, path: transmission.settings.path, rules: transmission.rules.withoutDeadline)
        session = transmission.session
        (hasLeftOrigin, isRedirected) = (context.hasLeftOrigin, context.isRedirected)
    }
}

/// Starts transmissions that no call waits for.
///
/// A client provides the function, because they belong to it: they end with its shutdown.
final class BackgroundSends: Sendable {
    typealias Ended = @Sendable (Result<HTTPResponse, ServiceError>) -> Void
    /// Sends a request after its pause, in a transmission of its own, and returns that. Returns `nil` if nothing may
    /// begin any more; then `ended` is not called.
    typealias Start = @Sendable (BackgroundSend, @escaping Ended) -> Transmission?

    private let function = Lock<Start?>(nil)

    func provide(_ function: @escaping Start) {
        self.function.withLock { $0 = function }
    }

    func start(_ send: BackgroundSend, ended: @escaping Ended) -> Transmission? {
        function.withLock { $0 }?(send, ended)
    }
}
