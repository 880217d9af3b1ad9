import ErrandJSON
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Converts a response to a value or an error. Only here does a status become an error.
struct ResponseInterpreter: Sendable {
    private static let snippetLength = 200
    /// The names in a path may come from the server too.
    private static let pathLength = 500

    let decoder: any ResponseDecoder
    /// The same, if it is ours. To ask for each response would take as long as to decode a small one.
    private let fastDecoder: FastJSONDecoder?
    /// What is read of the user's own error type from a rejection.
    let errorDetails: ErrorDetails
    let acceptedContentTypes: [String]
    let time: any TimeSource

    init(
        decoder: any ResponseDecoder, errorDetails: ErrorDetails = .none, acceptedContentTypes: [String],
        time: any TimeSource
    ) {
        (self.decoder, fastDecoder) = (decoder, decoder as? FastJSONDecoder)
        (self.errorDetails, self.acceptedContentTypes, self.time) = (errorDetails, acceptedContentTypes, time)
    }

    /// Decodes the response to a call; stops soon after the call is stopped, with its error, if the decoder is ours.
    /// Throws if its status is neither a success nor one that the call accepts.
    func value<Response: Decodable>(
        _ type: Response.Type, below keys: [String], in response: HTTPResponse,
        by decoder: (any ResponseDecoder)? = nil, for call: Call? = nil, hasGraphQLErrors: Bool = false,
        redactor: () -> Redactor
    ) throws(ServiceError) -> Response {
        let isAccepted = call?.rules.accepts(response.status) ?? response.isSuccess
        if hasGraphQLErrors {
            if let error = graphQLError(of: response, redactor: redactor) { throw error }
            // Of a value, the decoder sees whether it is there.
            if isAccepted, type == NoContent.self {
                _ = try decoded(GraphQLFrame.self, below: [], in: response, for: call, redactor: redactor)
            }
        }
        guard isAccepted else { throw error(of: response, redactor: redactor()) }
        // A status that the call accepts besides success says that there is no such value.
        if !response.isSuccess {
            return try absent(type, below: keys, in: response, by: decoder, for: call, redactor: redactor)
        }
        return try decoded(type, below: keys, in: response, by: decoder, for: call, redactor: redactor)
    }

    // A function that contains an optional of a generic type looks up the type of that optional at each call. So what a
    // usual response does not need is in functions of its own.

    /// Decodes a response without success that the call accepts.
    @inline(never)
    @_semantics("optimize.sil.specialize.generic.never")
    private func absent<Response: Decodable>(
        _ type: Response.Type, below keys: [String], in response: HTTPResponse, by decoder: (any ResponseDecoder)?,
        for call: Call?, redactor: () -> Redactor
    ) throws(ServiceError) -> Response {
        if let absent = emptyValue(type, Data()) { return absent }
        return try decoded(type, below: keys, in: response, by: decoder, for: call, redactor: redactor)
    }

    /// Decodes a response, whatever its status.
    @_semantics("optimize.sil.specialize.generic.never")
    func decoded<Response: Decodable>(
        _ type: Response.Type, below keys: [String], in response: HTTPResponse,
        by decoder: (any ResponseDecoder)? = nil, for call: Call? = nil, redactor: () -> Redactor
    ) throws(ServiceError) -> Response {
        let body = response.body.bytes ?? Data()
        if body.isEmpty || type == NoContent.self || type == Data.self || type == String.self {
            return try undecoded(type, body, below: keys, in: response, by: decoder, for: call, redactor: redactor)
        }
        return try decoded(type, body, below: keys, in: response, by: decoder, for: call, redactor: redactor)
    }

    /// Returns the value of a response that may need no decoder: an empty one, bytes or text.
    @inline(never)
    @_semantics("optimize.sil.specialize.generic.never")
    private func undecoded<Response: Decodable>(
        _ type: Response.Type, _ body: Data, below keys: [String], in response: HTTPResponse,
        by decoder: (any ResponseDecoder)?, for call: Call?, redactor: () -> Redactor
    ) throws(ServiceError) -> Response {
        if let empty = emptyValue(type, body) { return empty }
        if type == Data.self, keys.isEmpty, let bytes = body as? Response { return bytes }
        if type == String.self, keys.isEmpty, isText(response.headers) {
            let label = MediaType(response.headers["Content-Type"] ?? "").charset ?? "utf-8"
            let charset = Charset(label: label)
            if let text = charset?.text(in: body).map(CombiningMarks.sorted) as? Response { return text }
            throw failure(
                of: response, redactor(), expected: "text in UTF-8, UTF-16 or Latin 1",
                found: charset == nil ? "the charset \(label)" : "bytes that are not valid \(label)",
                "to get the bytes, ask for `Data`")
        }
        return try decoded(type, body, below: keys, in: response, by: decoder, for: call, redactor: redactor)
    }

    /// Decodes a body by the decoder.
    @inline(never)
    @_semantics("optimize.sil.specialize.generic.never")
    private func decoded<Response: Decodable>(
        _ type: Response.Type, _ body: Data, below keys: [String], in response: HTTPResponse,
        by decoder: (any ResponseDecoder)?, for call: Call?, redactor: () -> Redactor
    ) throws(ServiceError) -> Response {
        if let found = unacceptedType(of: response.headers) {
            throw failure(
                of: response, redactor(), expected: acceptedContentTypes.first ?? "nothing", found: found,
                "to decode it anyway, add it to `acceptedContentTypes`")
        }
        guard !body.isEmpty else {
            throw failure(
                of: response, redactor(), expected: "\(type)", found: "an empty body",
                "if that is right, ask for `NoContent` or an optional")
        }
        let json = body.withoutByteOrderMark
        do {
            let fast = if let decoder { decoder as? FastJSONDecoder } else { fastDecoder }
            if let fast { return try fast.decode(type, from: json, below: keys, for: call) }
            return try (decoder ?? self.decoder).decode(type, from: json, below: keys)
        } catch {
            // A model may have replaced the error that stopped it with another one.
            try call?.throwIfStopped()
            throw ServiceError(error) { error in
                let cause = DecodingFailure.Cause(error, decoding: type, isQuoting: true)
                let isNoJSON = if case DecodingError.dataCorrupted = error { true } else { false }
                let isPage = isNoJSON && body.first == UInt8(ascii: "<")
                return failure(
                    of: response, redactor(), at: cause.path, expected: cause.expected,
                    found: isPage ? "a page of HTML or XML" : cause.found,
                    DecodingAdvice.text(on: error, decoding: json))
            }
        }
    }

    /// Returns the error for a response that is not what the call asks for.
    private func failure(
        of response: HTTPResponse, _ redactor: Redactor, at path: String = "", expected: String, found: String,
        _ advice: String?
    ) -> ServiceError {
        let (snippet, isCut) = redactor.beginning(of: response.body.bytes ?? Data(), length: Self.snippetLength)
        var failure = DecodingFailure(
            path: redactor.beginning(of: path.utf8, length: Self.pathLength).text, expected: expected,
            found: redactor.beginning(of: found.utf8, length: Self.snippetLength).text,
            snippet: isCut ? "\(snippet)…" : snippet, status: response.status)
        failure.advice.value = advice.map { redactor.beginning(of: $0.utf8, length: Self.snippetLength).text }
        return .decodingFailed(failure)
    }

    /// Returns the value that an empty body stands for; `nil` if the type has none.
    @inline(never)
    @_semantics("optimize.sil.specialize.generic.never")
    private func emptyValue<Response>(_ type: Response.Type, _ body: Data) -> Response? {
        // To look for a conformance takes long, and few bodies are empty.
        guard body.isEmpty || type == NoContent.self, let type = type as? any EmptyRepresentable.Type else {
            return nil
        }
        return type.whenEmpty as? Response
    }

    /// Returns the error for a response of a GraphQL API with errors; `nil` if it has none.
    private func graphQLError(of response: HTTPResponse, redactor: () -> Redactor) -> ServiceError? {
        let body = (response.body.bytes ?? Data()).withoutByteOrderMark
        return ErrorBody(ofGraphQL: body, redactor: redactor).map { error(of: response, $0, redactor: redactor()) }
    }

    /// Returns the error for a response that is not a success.
    func error(of response: HTTPResponse, redactor: Redactor) -> ServiceError {
        let words = ErrorBody(response.body.bytes ?? Data(), redactor: redactor)
        return error(of: response, words, redactor: redactor)
    }

    private func error(of response: HTTPResponse, _ words: ErrorBody, redactor: Redactor) -> ServiceError {
        let body = response.body.bytes ?? Data()
        let wait = RetryAfterHeaders.retryAfter(in: response.headers, date: time.date)
        var headers = response.headers
        headers.hide(by: redactor)
        // Errors of the token are often in the headers only.
        let error = headers.tokenError.flatMap { HTTPHeaders.errorsBesideToken.contains($0.code) ? $0 : nil }
        func shown(_ name: String) -> String? {
            guard let text = error?.challenge[name], !text.isEmpty else { return nil }
            return redactor.beginning(of: text.utf8, length: Self.pathLength).text
        }
        var rejection = Rejection(
            status: response.status, message: words.message ?? shown("error_description"),
            code: words.code ?? error?.code, fieldErrors: words.fieldErrors, headers: headers, body: body,
            retryAfter: wait)
        rejection.cacheStatus.value = response.provenance.cache
        // A redirect to it may have been sent.
        if response.isRefusedByCache, response.redirectedTo == nil { rejection.call.mayHaveReachedServer = false }
        if error?.code == HTTPHeaders.insufficientScope { rejection.shownScopes.value = shown("scope") }
        rejection.decode.value = { [decoder] type, body, keys in
            try decoder.decode(type, from: body, below: keys)
        }
        rejection.shown.value = { redactor.beginning(of: $0.utf8, length: Self.pathLength).text }
        rejection.details.value = errorDetails.read?(rejection)
        if response.isThrottled {
            let pause = wait ?? RetryAfterHeaders.pause(after: response, date: time.date)
            return .rateLimited(RateLimited(rejection, retryAfter: pause, message: words.message))
        }
        return response.status >= 500 ? .serverFailure(rejection) : .rejected(rejection)
    }

    /// Returns whether a response to a call for a `String` is the text itself, and not JSON.
    ///
    /// A pattern for any type, such as `*/*` or `text/*`, says what is accepted, and not that it is JSON.
    private func isText(_ headers: HTTPHeaders) -> Bool {
        guard let type = headers["Content-Type"] else { return false }
        let found = MediaType(type)
        guard !found.name.isEmpty, !found.isJSON else { return unacceptedType(of: headers) != nil }
        return !acceptedContentTypes.contains { !$0.hasSuffix("*") && found.matches($0) }
    }

    /// Returns the content type, unless responses of that type are decoded.
    private func unacceptedType(of headers: HTTPHeaders) -> String? {
        guard let type = headers["Content-Type"], !acceptedContentTypes.contains(type) else { return nil }
        let found = MediaType(type)
        guard !found.name.isEmpty, !acceptedContentTypes.contains(where: found.matches) else { return nil }
        // Returned as it was sent: in lower case, a secret in it would not be recognized.
        return String(found.name)
    }
}

extension Data {
    /// Some servers put a byte order mark before their JSON, where it does not belong (RFC 8259, 8.1).
    fileprivate var withoutByteOrderMark: Data {
        // Nearly always the first byte decides, and it is faster to read than a sequence.
        first == 0xEF && starts(with: [0xEF, 0xBB, 0xBF]) ? dropFirst(3) : self
    }
}
