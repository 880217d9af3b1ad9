#if canImport(Security)
import Foundation
public import Security
#endif

/// The decision about a server that has shown its certificate.
enum ServerVerdict: Sendable, Hashable {
    /// The system decides.
    case leftToSystem
    case trusted, refused

    /// Asks a user's closure, if there is one and a server is to be judged: a session also asks for passwords and
    /// certificates of the client, and then there is no trust object.
    init<Trust>(on trust: Trust?, of host: String, by judge: ((Trust, String) -> Bool)?) {
        guard let judge, let trust else {
            self = .leftToSystem
            return
        }
        self = judge(trust, host) ? .trusted : .refused
    }

    /// The error with which the exchange ends.
    var error: ServiceError? {
        self == .refused ? .transport(TransportFailure(.untrustedCertificate, "it was refused")) : nil
    }
}

#if canImport(Security)
/// A user's closure that judges servers.
struct ServerTrust: Sendable {
    var judge: (@Sendable (SecTrust, String) -> Bool)?

    func verdict(on challenge: URLAuthenticationChallenge, _ certificate: DevelopmentCertificate?) -> ServerVerdict {
        let space = challenge.protectionSpace
        guard let certificate, certificate.covers(space.host) else {
            return ServerVerdict(on: space.serverTrust, of: space.host, by: judge)
        }
        return ServerVerdict(on: space.serverTrust, of: space.host) { trust, _ in certificate.hasKey(of: trust.leaf) }
    }
}

extension SecTrust {
    /// The certificate of the server, as DER.
    fileprivate var leaf: Data? {
        let chain = SecTrustCopyCertificateChain(self) as? [SecCertificate]
        return chain?.first.map { SecCertificateCopyData($0) as Data }
    }
}

extension URLSessionTransport.Options {
    /// A closure that decides instead of the system whether to trust a server, from its trust object and its host;
    /// `nil` by default. A closure that pins a key still has to ask the system (`SecTrustEvaluateWithError`). If it
    /// returns `false`, the call fails with `.transport` of the kind `.untrustedCertificate`.
    public var trusts: (@Sendable (SecTrust, String) -> Bool)? {
        get { serverTrust.judge }
        set { serverTrust.judge = newValue }
    }
}

extension ServerVerdict {
    /// The verdict as a session takes it.
    func disposition(
        of challenge: URLAuthenticationChallenge
    ) -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        switch self {
        case .leftToSystem: (.performDefaultHandling, nil)
        case .trusted: (.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
        case .refused: (.cancelAuthenticationChallenge, nil)
        }
    }
}
#endif
