#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension HTTPURL {
    /// Parses an absolute URL. Throws `.invalidRequest` with what is wrong. Drops a fragment; refuses credentials.
    public init(_ text: String) throws(ServiceError) {
        self = try ServiceError.checking { () throws(HTTPFault) in try HTTPURL(reading: text) }
    }

    /// Parses an absolute URL. An error shows the text without what the redactor hides.
    init(_ text: String, hiding redactor: Redactor) throws(ServiceError) {
        self = try ServiceError.checking(hiding: redactor) { () throws(HTTPFault) in try HTTPURL(reading: text) }
    }

    /// Parses a Foundation URL in the same way.
    public init(_ url: URL) throws(ServiceError) {
        try self.init(url.absoluteString)
    }

    /// Resolves `reference` against this URL (RFC 3986, 5.2); the scheme stays http or https.
    package func resolving(_ reference: String) throws(ServiceError) -> HTTPURL {
        try resolving(reference, hiding: Redactor(secretNames))
    }

    /// Resolves `reference` against this URL. An error shows it without what the redactor hides.
    func resolving(
        _ reference: String, hiding redactor: @autoclosure () -> Redactor
    ) throws(ServiceError) -> HTTPURL {
        try ServiceError.checking(hiding: redactor()) { () throws(HTTPFault) in try resolving(reading: reference) }
    }
}

extension HTTPRequest {
    /// Checks the method and the headers.
    func checkSyntax() throws(ServiceError) {
        try ServiceError.checking { () throws(HTTPFault) in try HTTPSyntax.check(self) }
    }

    /// Refuses to send credentials unencrypted to another machine that is not named, and any request unless the client
    /// allows it.
    func checkCleartext(by rule: CleartextRule, isSigned: Bool) throws(ServiceError) {
        guard url.origin.isExposed, !rule.allowsCredentials(at: url.origin) else { return }
        if isSigned || headers["Authorization"] != nil {
            let reason = "a token is sent over https or to this machine only, not to \(url.origin)"
            throw .invalidRequest(InvalidRequest(.cleartext, reason))
        }
        guard rule.isAllowed else {
            let reason = "\(url.origin) is not encrypted; use https, or set `allowsCleartext`"
            throw .invalidRequest(InvalidRequest(.cleartext, reason))
        }
    }
}

extension HTTPBody {
    /// Returns the whole body. Throws `.tooLarge` if there are more than `limit` bytes; a stream is read no further
    /// than the chunk that exceeds the limit.
    public func collect(upTo limit: Int) async throws -> Data {
        try await collect(upTo: limit, otherwise: ServiceError.bodyTooLarge(limit, option: nil))
    }

    /// Returns the whole body, unless the scope is stopped first. Calls `noteProgress` for each chunk of a stream.
    package func collect(
        upTo limit: Int, in scope: StopScope<ServiceError>, reporting noteProgress: @escaping @Sendable () -> Void = {}
    ) async throws -> Data {
        // A stream cannot observe stops.
        guard bytes == nil else { return try await collect(upTo: limit, otherwise: ServiceError.bodyTooLarge(limit)) }
        return try await scope.result {
            try await collect(upTo: limit, reporting: noteProgress, otherwise: ServiceError.bodyTooLarge(limit))
        }.get()
    }
}
