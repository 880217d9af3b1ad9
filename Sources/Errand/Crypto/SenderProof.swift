/// What proves who sends a request: the app that a server knows, and the holder of a key.
///
/// Both proofs are made for one send, when it has its permit: a server may accept a proof once, or only for a minute.
struct SenderProof: Sendable {
    /// Returns the request with what proves that the app sends it; `nil` if the request has all of that from the start.
    var app: (@Sendable (HTTPRequest) async throws(ServiceError) -> HTTPRequest)?
    /// What proves that the sender has a key; `nil` if nothing does.
    var key: TokenProver?
}
