#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What the caller of a download wants.
struct DownloadOrder: Sendable {
    /// The endpoint of each attempt.
    enum Source: Sendable {
        /// Always this one.
        case endpoint(UntypedEndpoint)
        /// The one that the closure returns.
        case asking(@Sendable () async throws -> Endpoint<Data>)
    }

    let source: Source
    let path: String
    let isResuming: Bool
    let digest: FileDigest?
    let byteLimit: Int?
    let onProgress: (@Sendable (TransferProgress) -> Void)?

    /// Whether each attempt has an endpoint of its own, whose query is a signature.
    var isAsking: Bool {
        if case .asking = source { true } else { false }
    }

    /// The endpoint that the call begins with. While a closure is asked for it, only its method is known.
    var firstEndpoint: UntypedEndpoint {
        if case .endpoint(let endpoint) = source { return endpoint.acceptingOnlySuccess }
        return Endpoint<Data>.get("(address)").untyped
    }

    /// Returns the endpoint of the next attempt of the call. Translates the errors of foreign code, and ends with the
    /// call.
    func endpoint(of call: Call) async throws(ServiceError) -> UntypedEndpoint {
        guard case .asking(let ask) = source else { return firstEndpoint }
        return try await call.runInChild { () async throws(ServiceError) in
            do {
                return try await ask().untyped.acceptingOnlySuccess
            } catch {
                throw ServiceError(error) { error in
                    let message = "the closure that names the address of a download threw \(foreignName(of: error))"
                    return .transport(TransportFailure(.other, message, mayHaveReachedServer: false))
                }
            }
        }
    }

    /// Throws if the order cannot be carried out, whatever the server says.
    func check() throws(ServiceError) {
        try digest?.check()
        if let byteLimit, byteLimit < 1 {
            throw .badSetting("a limit of \(byteLimit) bytes for a download; it must be 1 or more")
        }
    }
}

extension UntypedEndpoint {
    /// What a server responds with another status is not the file.
    fileprivate var acceptingOnlySuccess: Self {
        var endpoint = self
        endpoint.options.acceptedStatuses = []
        return endpoint
    }
}
