#if URLSession || canImport(Darwin)
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The meaning of a session's error, for a task that we have not stopped ourselves: if the system has canceled one,
/// that is a failure too, and not `.cancelled`.
struct URLSessionFailure {
    #if canImport(FoundationNetworking)
    // On Linux only a connection that was closed without a response is reported with this code.
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

    /// The kind of failure according to libcurl's message: on Linux, most failures have no code of their own.
    private var kindByWords: TransportFailure.Kind? {
        let malformed = [
            "chunked-encoding", "HTTP/0.9", "HTTP version", "response code", "writing header", "content unencoding",
        ]
        if malformed.contains(where: words.contains) { return .malformed }
        // A header field, or a head, that is too large for libcurl.
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
