/// The rules of one call; what is `nil` follows the client's configuration.
public struct CallOptions: Sendable {
    /// Whether a call is signed.
    public enum Authentication: Sendable, Hashable {
        /// It is signed; without a signed-in user it fails with `.signInRequired` and sends nothing.
        case required
        /// It is signed if there is a signed-in user.
        case optional
        /// It is never signed.
        case none
    }

    /// What tells a server that two requests are the same call.
    public enum IdempotencyKey: Sendable, Hashable {
        /// A new key for every call, the same for all its attempts.
        case unique
        /// This key.
        case fixed(String)
    }

    /// Whether the call is signed; by default it must be, if the client has tokens.
    public var authentication: Authentication?
    /// The limit of one attempt.
    public var timeout: Duration?
    /// The limit of the whole call.
    public var deadline: Duration?
    /// When the call is tried again.
    public var retry: RetryPolicy?
    /// The key that makes the call safe to repeat.
    public var idempotencyKey: IdempotencyKey?
    /// Decodes the response in place of the client's decoder.
    public var decoder: (any ResponseDecoder)?
    /// How many permits of the rate limiter an attempt takes.
    public var permits = 1

    /// Makes options that follow the client's configuration.
    public init() {}
}
