// The choice of the sentences that an error shows to people. No sentence has anything of the call in it, or any other
// words of the library: those are for developers, and printing an error shows them.

extension ServiceError {
    /// The server's own message for the user, as the server wrote it; `nil` if there is none. ``localizedDescription``
    /// prefers it.
    ///
    /// It is the message of a 4xx, or of GraphQL's errors. That of a failed server, of a redirect or of a session that
    /// ended is for developers, and so is an identifier: a message without a space, such as `invalid_grant`, unless its
    /// letters are those of another script, which may need no spaces. ``Rejection/message`` has them all.
    public var serverMessage: String? {
        let message: String? =
            switch self {
            case .rejected(let rejection) where !(300..<400).contains(rejection.status) && rejection.status < 500:
                rejection.message
            // Without a status it is the client's own limit, whose message is for developers.
            case .rateLimited(let limited) where limited.status != nil: limited.message
            default: nil
            }
        return message.flatMap { $0.isIdentifier ? nil : $0.printable }
    }

    /// Sentences for the user: what happened and, if there is advice, what to do. They are the
    /// ``localizedDescription`` if there is no ``serverMessage``.
    public var sentences: [ErrorSentence] {
        let (happened, advice) = names
        return [ErrorSentence(happened)] + (advice.map { [$0] } ?? [])
    }

    /// Returns the sentences for the user in a language, such as `de` or `de-AT`, or the ``serverMessage`` if there is
    /// one. A language other than German gets English.
    public func localizedDescription(in language: String) -> String {
        serverMessage ?? sentences.map { $0.text(in: language) }.joined(separator: " ")
    }

    private typealias Names = (happened: ErrorSentence.Name, advice: ErrorSentence?)

    private var names: Names {
        switch self {
        case .cancelled: (.cancelled, nil)
        case .noInternetConnection: (.noInternetConnection, nil)
        case .timedOut(let timeout): (timeout.bound.sentence, timeout.bound == .signIn ? .signInAgain : .later)
        case .invalidRequest(let invalid): (invalid.subject.sentence, nil)
        case .signInRequired: (.signInRequired, nil)
        case .sessionExpired(let expiry): (expiry.reason.sentence, expiry.reason.advice)
        case .rateLimited(let limited):
            (limited.status == nil ? .rateLimitedByClient : .rateLimitedByServer, .after(limited.retryAfter))
        case .rejected(let rejection):
            (rejection.refusal, rejection.status == 401 ? .signInAgain : isTransient ? .after(retryAfter) : nil)
        case .serverFailure(let rejection) where rejection.cache?.reason == .onlyIfCached:
            (.serverFailureNotStored, nil)
        case .serverFailure(let rejection):
            (isTransient ? .serverFailureUnavailable : .serverFailure, .after(rejection.retryAfter))
        case .decodingFailed: (.decodingFailed, nil)
        case .transport(let failure):
            (failure.kind.sentence, failure.retryAfter.map { .after($0) } ?? failure.kind.advice)
        case .paging(let fault): (fault.kind.sentence, nil)
        }
    }
}

extension String {
    /// Whether it is at most one word, in ASCII: a Chinese sentence has no spaces either.
    fileprivate var isIdentifier: Bool {
        split(whereSeparator: \.isWhitespace).count <= 1 && !contains { $0.isLetter && !$0.isASCII }
    }
}

extension ErrorSentence {
    fileprivate static let again = ErrorSentence(.tryAgain)
    fileprivate static let later = ErrorSentence(.tryAgainLater)
    fileprivate static let signInAgain = ErrorSentence(.signInAgain)

    /// The advice to try again after a time, rounded up to at least 2 of a unit.
    fileprivate static func after(_ wait: Duration?) -> ErrorSentence {
        guard let wait, wait < .seconds(1_000_000_000) else { return later }
        let seconds = wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0)
        func sentence(_ name: Name, _ unit: Int64) -> ErrorSentence {
            ErrorSentence(name, max(2, Int((seconds + unit - 1) / unit)))
        }
        return switch seconds {
        case ...0: again
        case ...90: sentence(.tryAgainInSeconds, 1)
        case ...5400: sentence(.tryAgainInMinutes, 60)
        case ...129_600: sentence(.tryAgainInHours, 3600)
        default: sentence(.tryAgainInDays, 86_400)
        }
    }
}

extension Timeout.Bound {
    fileprivate var sentence: ErrorSentence.Name {
        switch self {
        case .attempt: .timedOutAttempt
        case .deadline: .timedOutDeadline
        case .refresh: .timedOutRefresh
        case .signIn: .timedOutSignIn
        }
    }
}

extension InvalidRequest.Subject {
    fileprivate var sentence: ErrorSentence.Name {
        switch self {
        case .url, .path, .query, .method, .header, .body, .configuration, .bodyAlreadyRead: .invalidRequest
        case .file: .invalidRequestFile
        case .cleartext: .invalidRequestCleartext
        case .clientShutDown: .invalidRequestShutDown
        }
    }
}

extension SessionExpiry.Reason {
    fileprivate var sentence: ErrorSentence.Name {
        switch self {
        case .refreshRefused, .notRefreshable: .sessionExpired
        case .signedOut: .sessionExpiredSignedOut
        case .otherSession: .sessionExpiredOtherSession
        case .tooManyRefreshes: .sessionExpiredTooManyRefreshes
        case .unreadable, .damaged: .sessionExpiredUnreadable
        }
    }

    fileprivate var advice: ErrorSentence? {
        switch self {
        case .refreshRefused, .notRefreshable, .damaged: .signInAgain
        case .signedOut, .otherSession: nil
        case .tooManyRefreshes: .later
        case .unreadable: ErrorSentence(.tryOrSignInAgain)
        }
    }
}

extension Rejection {
    fileprivate var refusal: ErrorSentence.Name {
        switch status {
        case 304: .rejectedNotModified
        case 300..<400: .rejectedRedirect
        case 401: .rejectedUnauthorized
        case 403: .rejectedForbidden
        case 404: .rejectedNotFound
        case 408: .rejectedTimeout
        case 409, 412: .rejectedConflict
        case 410: .rejectedGone
        case 413: .rejectedTooLarge
        default: .rejected
        }
    }
}

extension TransportFailure.Kind {
    fileprivate var sentence: ErrorSentence.Name {
        switch self {
        case .dns: .transportDNS
        case .refused: .transportRefused
        case .unreachable: .transportUnreachable
        case .reset: .transportReset
        case .tls: .transportTLS
        case .untrustedCertificate: .transportUntrustedCertificate
        case .proxy: .transportProxy
        case .truncated: .transportTruncated
        case .malformed: .transportMalformed
        case .tooLarge: .transportTooLarge
        case .unsupported: .transportUnsupported
        case .unavailable: .transportUnavailable
        case .outOfResources: .transportOutOfResources
        case .overloaded: .transportOverloaded
        case .circuitOpen: .transportCircuitOpen
        case .storage: .transportStorage
        case .file: .transportFile
        case .digestMismatch: .transportDigestMismatch
        case .requestBody: .transportRequestBody
        case .middleware: .transportMiddleware
        case .other: .transportOther
        }
    }

    fileprivate var advice: ErrorSentence? {
        switch self {
        case .dns, .unreachable: ErrorSentence(.checkConnection)
        case .proxy: ErrorSentence(.checkProxy)
        case .reset, .truncated: .again
        case .refused, .tls, .outOfResources, .overloaded, .circuitOpen, .storage, .digestMismatch: .later
        case .untrustedCertificate, .malformed, .tooLarge, .unsupported, .unavailable, .file, .requestBody, .middleware,
            .other:
            nil
        }
    }
}

extension PagingFault.Kind {
    fileprivate var sentence: ErrorSentence.Name {
        switch self {
        case .repeated: .pagingRepeated
        case .otherOrigin: .pagingOtherOrigin
        case .tooManyPages: .pagingTooManyPages
        case .missingTotal: .pagingMissingTotal
        case .unreadable: .pagingUnreadable
        }
    }
}
