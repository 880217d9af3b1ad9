#if os(Linux)
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The files that the options of a transport name. If one is missing, each version of libcurl says that in its own way.
///
/// The file system is asked once, and again after a failure that a missing file may have caused.
final class CurlFiles: Sendable {
    private let paths: [(path: String, content: String)]
    private let areReadable = Lock(false)
    private let certificate: DevelopmentCertificate?
    private let knownKey = Lock<String?>(nil)

    /// Creates the list of the files that these options name.
    init(_ options: CurlTransport.Options) {
        let identity = options.clientCertificate
        certificate = options.developmentCertificate
        let paths = [
            (options.certificateAuthorities, "trusted certificates"),
            (identity?.certificate, "the client certificate"),
            (identity?.key, "the client certificate's key"),
        ]
        self.paths = paths.compactMap { path, content in path.map { ($0, content) } }
    }

    /// Throws if one of the files cannot be read.
    func require() throws(ServiceError) {
        guard !paths.isEmpty, !areReadable.withLock({ $0 }) else { return }
        if let missing = paths.first(where: { !FileManager.default.isReadableFile(atPath: $0.path) }) {
            let reason = "the file of \(missing.content), \(HTTPSyntax.quoted(missing.path)), cannot be read"
            throw .badSetting(reason)
        }
        areReadable.withLock { $0 = true }
    }

    /// Returns the hash of the key by which a server under development at that host is trusted; `nil` if there is none.
    /// The file is read once.
    func developmentKey(for host: String) throws(ServiceError) -> String? {
        guard let certificate else { return nil }
        if let problem = certificate.problem { throw .badSetting(problem) }
        guard certificate.covers(host) else { return nil }
        if let known = knownKey.withLock({ $0 }) { return known }
        let key = try certificate.keyHash()
        knownKey.withLock { $0 = key }
        return key
    }

    /// Throws if a request failed with that error because one of the files cannot be read any more.
    func require(after error: ServiceError) throws(ServiceError) {
        switch error {
        case .transport(let failure) where failure.kind == .untrustedCertificate:
            // The server may have another certificate by now, and the file as well.
            return knownKey.withLock { $0 = nil }
        case .invalidRequest: break
        case .transport(let failure) where failure.kind == .tls: break
        default: return
        }
        areReadable.withLock { $0 = false }
        try require()
    }
}
#endif
