#if URLSession || canImport(Darwin)
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What an error of a session means, of a task that we have not stopped ourselves: one that the system has cancelled is
/// a failure too, and not `.cancelled`.
struct URLSessionFailure {
    #if canImport(FoundationNetworking)
    // Nothing else is reported so on Linux than a connection that was closed without an answer.
    private static let badServerResponse = TransportFailure.Kind.reset
    #else
    private static let badServerResponse = TransportFailure.Kind.malformed
    #endif

    private let code: URLError.Code?
    private let words: String
    private let hasAnswer: Bool

    init(_ error: any Error, hasAnswer: Bool) {
        code = (error as? URLError)?.code
        words = error.localizedDescription
        self.hasAnswer = hasAnswer
    }

    var error: ServiceError {
        switch code {
        case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive:
            return .noInternetConnection
        case .cannotFindHost, .dnsLookupFailed: return failure(.dns)
        case .cannotConnectToHost: return failure(.refused)
        case .timedOut: return failure(.unreachable, mayHaveReachedServer: true)
        case .networkConnectionLost: return failure(hasAnswer ? .truncated : .reset)
        case .secureConnectionFailed, .clientCertificateRequired, .clientCertificateRejected: return failure(.tls)
        case .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateNotYetValid,
            .serverCertificateHasUnknownRoot:
            return failure(.untrustedCertificate)
        case .appTransportSecurityRequiresSecureConnection: return failure(.unsupported)
        case .cannotParseResponse, .cannotDecodeRawData, .cannotDecodeContentData: return failure(.malformed)
        case .badServerResponse: return failure(Self.badServerResponse)
        default: return failure(kindByWords ?? (hasAnswer ? .truncated : .other))
        }
    }

    /// On Linux most that can go wrong has no code of its own; libcurl's words tell some of it apart.
    private var kindByWords: TransportFailure.Kind? {
        let malformed = [
            "chunked-encoding", "HTTP/0.9", "HTTP version", "response code", "writing header", "content unencoding",
        ]
        if malformed.contains(where: words.contains) { return .malformed }
        // A field, or a head, for which libcurl has no room.
        let tooLarge = ["Out of memory", "Too large response headers"]
        if !hasAnswer, tooLarge.contains(where: words.contains) { return .tooLarge }
        return words.contains("certificate") && !hasAnswer ? .untrustedCertificate : nil
    }

    private func failure(_ kind: TransportFailure.Kind, mayHaveReachedServer: Bool? = nil) -> ServiceError {
        let mayHave = mayHaveReachedServer ?? (hasAnswer || kind.mayComeAfterSending)
        return .transport(TransportFailure(kind, words, mayHaveReachedServer: mayHave))
    }
}
#endif
