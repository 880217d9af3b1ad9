// Calls that do not compile, with a reason. Without these, the compiler would choose the overload for `NoContent` when
// the type of a result does not fit, and report that `NoContent` cannot be assigned to it.

extension APIClient {
    /// Reports that a type is no response.
    @available(*, unavailable, message: "the type of a response has to conform to Decodable and Sendable")
    public nonisolated func run<Response>(
        _ endpoint: Endpoint<NoContent>, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> Response {
        throw .cancelled
    }

    /// Reports that a type is no response.
    @available(*, unavailable, message: "the type of a response has to conform to Decodable and Sendable")
    public nonisolated func run<Response>(
        _ route: some EndpointConvertible, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> Response {
        throw .cancelled
    }

    /// Reports that the response has another type.
    @available(*, unavailable, message: "the endpoint's response has another type than this result")
    public nonisolated func run<Response, Other>(
        _ endpoint: Endpoint<Response>, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> Other {
        throw .cancelled
    }
}
