#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Turns a response into a value or an error. Only here does a status become an error.
struct ResponseInterpreter: Sendable {
    private static let snippetLength = 200
    /// The names in a path may come from the server too.
    private static let pathLength = 500

    let decoder: any ResponseDecoder
    /// Reads the user's own error type from a rejection.
    var rejectionDetails: (@Sendable (Rejection) -> (any Sendable)?)?
    let acceptedContentTypes: [String]
    let time: any TimeSource

    func value<Response: Decodable>(
        _ type: Response.Type, below keys: [String], in response: HTTPResponse,
        by decoder: (any ResponseDecoder)? = nil, redactor: () -> Redactor
    ) throws(ServiceError) -> Response {
        let body = response.body.bytes ?? Data()
        guard response.isSuccess else { throw error(of: response, redactor: redactor()) }
        if let empty = emptyValue(type, body) { return empty }
        if type == Data.self, keys.isEmpty, let bytes = body as? Response { return bytes }
        func failure(
            _ path: String, _ expected: String, _ found: String, _ advice: String? = nil
        ) -> ServiceError {
            let redactor = redactor()
            let (snippet, isCut) = redactor.beginning(of: body, length: Self.snippetLength)
            var failure = DecodingFailure(
                path: redactor.beginning(of: path.utf8, length: Self.pathLength).text, expected: expected,
                found: redactor.beginning(of: found.utf8, length: Self.snippetLength).text,
                snippet: isCut ? "\(snippet)…" : snippet, status: response.status)
            failure.advice.value = advice
            return .decodingFailed(failure)
        }
        if let found = unacceptedType(of: response.headers) {
            if type == String.self, keys.isEmpty, let text = text(of: response, body) as? Response { return text }
            throw failure(
                "", acceptedContentTypes.first ?? "nothing", found,
                "to decode it all the same, add it to `acceptedContentTypes`")
        }
        guard !body.isEmpty else { throw failure("", "\(type)", "an empty body") }
        do {
            return try (decoder ?? self.decoder).decode(type, from: body.withoutByteOrderMark, below: keys)
        } catch {
            throw ServiceError(error) { error in
                let cause = DecodingFailure.Cause(error, decoding: type, isQuoting: true)
                let isNoJSON = if case DecodingError.dataCorrupted = error { true } else { false }
                let isPage = isNoJSON && body.first == UInt8(ascii: "<")
                return failure(cause.path, cause.expected, isPage ? "a page of HTML or XML" : cause.found)
            }
        }
    }

    /// Returns the value that an empty body stands for; `nil` if the type has none.
    private func emptyValue<Response>(_ type: Response.Type, _ body: Data) -> Response? {
        guard let type = type as? any EmptyRepresentable.Type, body.isEmpty || type == NoContent.self else {
            return nil
        }
        return type.whenEmpty as? Response
    }

    /// Returns the body as text; `nil` if it is neither UTF-8 nor what its content type says.
    private func text(of response: HTTPResponse, _ body: Data) -> String? {
        let type = response.headers["Content-Type"]?.lowercased() ?? ""
        // In ISO-8859-1, each byte is one Unicode scalar.
        if type.contains("charset=iso-8859-1") || type.contains("charset=\"iso-8859-1\"") {
            return String(String.UnicodeScalarView(body.map { Unicode.Scalar($0) }))
        }
        return String(validating: body.withoutByteOrderMark, as: UTF8.self)
    }

    /// Returns the error for a response that is not a success.
    func error(of response: HTTPResponse, redactor: Redactor) -> ServiceError {
        let body = response.body.bytes ?? Data()
        let wait = RetryAfterHeaders.retryAfter(in: response.headers, date: time.date)
        let words = ErrorBody(body, redactor: redactor)
        if response.isThrottled {
            let pause = wait ?? RetryAfterHeaders.pause(after: response, date: time.date)
            return .rateLimited(RateLimited(retryAfter: pause, status: response.status, message: words.message))
        }
        var rejection = Rejection(
            status: response.status, message: words.message, code: words.code, fieldErrors: words.fieldErrors,
            headers: response.headers, body: body, retryAfter: wait)
        rejection.decode.value = { [decoder] type, body in try decoder.decode(type, from: body, below: []) }
        rejection.details.value = rejectionDetails?(rejection)
        return response.status >= 500 ? .serverFailure(rejection) : .rejected(rejection)
    }

    /// Returns the content type, unless responses of that type are decoded.
    private func unacceptedType(of headers: HTTPHeaders) -> String? {
        guard let type = headers["Content-Type"], !acceptedContentTypes.contains(type) else { return nil }
        let name = String(Substring(type.utf8.prefix { $0 != UInt8(ascii: ";") })).trimmed.lowercased()
        return name.isEmpty || acceptedContentTypes.contains { Self.matches(name, $0) } ? nil : name
    }

    private static func matches(_ name: String, _ pattern: String) -> Bool {
        guard let star = pattern.firstIndex(of: "*") else { return name == pattern.lowercased() }
        let (before, after) = (pattern[..<star].lowercased(), pattern[pattern.index(after: star)...].lowercased())
        guard pattern != "*/*" else { return true }
        return name.hasPrefix(before) && name.hasSuffix(after) && name.count >= before.count + after.count
    }
}

extension Data {
    /// Some servers put a byte order mark before their JSON, where it does not belong (RFC 8259, 8.1).
    fileprivate var withoutByteOrderMark: Data {
        starts(with: [0xEF, 0xBB, 0xBF]) ? dropFirst(3) : self
    }
}
