import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What an error of the gateway means.
enum EtcdRefusal: Error, Sendable, Hashable {
    /// The token has expired, or was issued before the users were changed. Nothing was done.
    case token(String)
    /// The member cannot answer now. A write may have been made.
    case unavailable(String)
    /// The cluster refuses the request. Nothing was done.
    case final(FleetStoreError)

    /// Reads the body of a response that is no success.
    init(status: Int, body: Data) {
        let failure = try? JSONDecoder().decode(EtcdFailure.self, from: body)
        self.init(status: status, failure ?? EtcdFailure())
    }

    init(status: Int, _ failure: EtcdFailure) {
        let message = failure.message ?? failure.error ?? "the gateway has responded with \(status)"
        let words = "etcd: \(message)"
        // The codes of gRPC, which do not change from version to version as the statuses do.
        switch failure.grpcCode ?? failure.code {
        case 16: self = .token(words)
        case 3 where message.contains("auth store is old"): self = .token(words)
        case 3 where message.contains("user name is empty"):
            self = .final(FleetStoreError(.refused, "\(words); the cluster requires a user and a password"))
        case 3 where message.contains("authentication failed"): self = .final(FleetStoreError(.refused, words))
        case 3 where message.contains("too large"): self = .final(FleetStoreError(.invalid, words))
        case 7: self = .final(FleetStoreError(.refused, words))
        case 9 where message.contains("authentication is not enabled"):
            let advice = "enable authentication in the cluster, or give no credentials"
            self = .final(FleetStoreError(.refused, "\(words); \(advice)"))
        case 8 where message.contains("space exceeded"):
            self = .final(FleetStoreError(.full, "\(words); compact and defragment it, and disarm the alarm"))
        case 1, 4, 8, 10, 13, 14: self = .unavailable(words)
        case nil where status >= 500 || status == 408 || status == 429: self = .unavailable(words)
        case nil where status == 401 || status == 403: self = .final(FleetStoreError(.refused, words))
        case nil where status == 404:
            self = .final(FleetStoreError(.other, "\(words); etcd 3.4 or later with its JSON gateway is needed"))
        default: self = .final(FleetStoreError(.other, words))
        }
    }

    /// The reason that a watch was canceled, as text: `rpc error: code = Unauthenticated desc = …`.
    init(reason: String) {
        let words = "etcd: \(reason)"
        if reason.contains("Unauthenticated") || reason.contains("invalid auth token") {
            self = .token(words)
        } else if reason.contains("PermissionDenied") || reason.contains("permission denied") {
            self = .final(FleetStoreError(.refused, words))
        } else {
            self = .unavailable(words)
        }
    }
}
