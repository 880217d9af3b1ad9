#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A response that is not a success, with the server's description of the error.
public struct Rejection: Sendable, Hashable {
    /// The status code.
    public let status: Int
    /// The server's message, from any of the usual members of its JSON: one line of up to 500 characters, without the
    /// secrets that the call sent, and with control characters escaped.
    public let message: String?
    /// The server's code for the error.
    public let code: String?
    /// The errors of single fields, by field name.
    public let fieldErrors: [String: [String]]
    /// The header fields of the response, unredacted.
    public let headers: HTTPHeaders
    /// The body as received, unredacted.
    public let body: Data
    /// How the cache took part; `nil` if the client has none.
    ///
    /// With the reason ``CacheStatus/Reason/onlyIfCached``, the server was not asked, and the status 504 comes from the
    /// cache.
    public var cache: CacheStatus? { cacheStatus.value }
    /// How long the server asks the client to wait; `nil` if it does not.
    public let retryAfter: Duration?
    /// The scopes that the request needs, if the server has refused the token because it has too few (RFC 6750, 3.1);
    /// empty if the server does not name them, and `nil` if that is not the reason.
    ///
    /// Sign the user in again with these scopes and those of the old token:
    ///
    ///     if let missing = rejection.requiredScopes {
    ///         let scopes = Set(token.scopes).union(missing)
    ///         await tokens.signIn(try await oauth.signIn(scopes: scopes.sorted(), using: browser))
    ///     }
    ///
    /// The new sign-in begins another session, so other calls that run at that moment end with `.sessionExpired`.
    ///
    /// Such a refusal starts no refresh: a new token would have the same scopes.
    public var requiredScopes: [String]? {
        guard let found = headers.tokenError, found.code == HTTPHeaders.insufficientScope else { return nil }
        return found.challenge["scope"]?.split(separator: " ").map(String.init) ?? []
    }
    /// How a user has to sign in for a request (RFC 9470).
    public struct RequiredSignIn: Sendable, Hashable {
        /// The names of the means by which the user has to sign in, the best first; empty if the server names none.
        public let acrValues: [String]
        /// How long ago the sign-in may be; `nil` if the server does not say.
        public let maxAge: Duration?
    }

    /// How the user has to sign in, if the server has refused the token because of the sign-in behind it (RFC 9470);
    /// `nil` if that is not the reason.
    ///
    /// Sign the user in again as the server wants:
    ///
    ///     if let required = rejection.requiredSignIn {
    ///         let (scopes, parameters) = (token.scopes, required.parameters)
    ///         let newer = try await oauth.signIn(scopes: scopes, using: browser, parameters: parameters)
    ///         await tokens.signIn(newer)
    ///     }
    ///
    /// Such a refusal starts no refresh: a new token would have the same sign-in behind it.
    public var requiredSignIn: RequiredSignIn? {
        guard let found = headers.tokenError, found.code == HTTPHeaders.insufficientAuthentication else { return nil }
        let values = found.challenge["acr_values"]?.split(separator: " ").map(String.init) ?? []
        let age = found.challenge["max_age"].flatMap { FieldParser.wholeNumber($0[...]) }
        return RequiredSignIn(acrValues: values, maxAge: age.map { .seconds($0) })
    }
    var call = FailedCall(mayHaveReachedServer: true)
    var cacheStatus = Uncompared<CacheStatus>()
    /// Decodes with the decoder of the client that received the response, below those keys.
    var decode = Uncompared<@Sendable (any Decodable.Type, Data, [String]) throws -> any Decodable>()
    /// Makes a text of the body safe to show, which may repeat what the call has sent.
    var shown = Uncompared<@Sendable (String) -> String>()
    /// The scopes that the request needs, safe to show; `nil` if there are none.
    var shownScopes = Uncompared<String>()
    /// The result of the client's `errorDetails`.
    var details = Uncompared<any Sendable>()

    /// Creates a rejection.
    public init(
        status: Int, message: String? = nil, code: String? = nil, fieldErrors: [String: [String]] = [:],
        headers: HTTPHeaders = [:], body: Data = Data(), retryAfter: Duration? = nil
    ) {
        self.status = status
        self.message = message
        self.code = code
        self.fieldErrors = fieldErrors
        self.headers = headers
        self.body = body
        self.retryAfter = retryAfter
    }

    /// Decodes your own error type from the body, with the ``Configuration/decoder`` of the client that received it,
    /// even if the endpoint has a decoder of its own.
    ///
    /// Throws `.decodingFailed` with the path at which the body does not match. A rejection that you have created
    /// yourself is decoded with a default `JSONDecoder`.
    public func decodeBody<Value: Decodable>(as type: Value.Type) throws(ServiceError) -> Value {
        try decodeBody(as: type, below: [])
    }

    /// Decodes the value below those keys, the outermost first.
    func decodeBody<Value: Decodable>(as type: Value.Type, below keys: [String]) throws(ServiceError) -> Value {
        do {
            if let decode = decode.value, let value = try decode(type, body, keys) as? Value { return value }
            return try JSONDecoder().decode(type, from: body, below: keys)
        } catch {
            let error = ServiceError(error) { error in
                // The decoder's message may quote the body.
                let cause = DecodingFailure.Cause(error, decoding: type, isQuoting: false)
                let path = shown.value?(cause.path) ?? cause.path
                return .decodingFailed(
                    DecodingFailure(path: path, expected: cause.expected, found: cause.found, status: status))
            }
            throw call.name.value.map { error.naming($0, at: call.server.value) } ?? error
        }
    }

    /// Returns the error that ``Configuration/errorDetails`` has read; `nil` if there is none of that type.
    public func details<Details>(as type: Details.Type = Details.self) -> Details? {
        details.value as? Details
    }
}

extension Rejection: ErrorPayload, CustomStringConvertible, CustomReflectable {
    /// What happened, in words for developers: the server's message if there is one.
    public var description: String {
        let scopes = shownScopes.value.map { "; the token needs the scopes \($0)" } ?? ""
        if let message { return "\(message)\(scopes)".printable }
        let response = "The server responded with \(status) (\(HTTPStatus.reason(status)))"
        if HTTPStatus.isTransient(status) || status >= 500 {
            return "\(response); try again \(retryAfter.map { "in \($0.displayText)" } ?? "later")"
        }
        switch status {
        case 200..<300: return "\(response), with errors"
        case 304: return "\(response); the resource has not changed"
        case 300..<400: return "\(response), a redirect that was not followed"
        case 401, 403:
            if requiredScopes != nil {
                return "\(response)\(scopes.isEmpty ? "; the token has too few scopes" : scopes)".printable
            }
            if requiredSignIn != nil { return "\(response); the user has to sign in again, as `requiredSignIn` says" }
            let advice = status == 401 ? "sign in, or check the credentials" : "you are not allowed to do this"
            return "\(response); \(advice)"
        case 404: return "\(response); there is no such resource"
        case 410: return "\(response); the resource no longer exists"
        case 412:
            let cause = mayBeOwnChange ? "; an earlier attempt of this call may have made the change" : ""
            return "\(response); a condition of the request does not hold, such as a version\(cause)"
        default: return response
        }
    }

    /// A mirror without secrets: headers and the body may contain anything, so it shows only the names and the size.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "status": status, "message": message?.printable as Any, "code": code?.printable as Any,
                "fieldErrors": "\(fieldErrors)".printable,
                "headers": headers.map(\.name.printable).joined(separator: ", "), "body": "\(body.count) bytes",
                "retryAfter": retryAfter as Any,
            ])
    }
}
