/// What can go wrong with a download beside what goes wrong with any call.
extension ServiceError {
    /// Whether the session of the call is over for good.
    var isEndOfSession: Bool {
        guard case .sessionExpired(let expiry) = self else { return false }
        return switch expiry.reason {
        case .refreshRefused, .notRefreshable, .signedOut, .otherSession, .damaged: true
        case .tooManyRefreshes, .unreadable: false
        }
    }

    var isDigestMismatch: Bool {
        if case .transport(let failure) = self { failure.kind == .digestMismatch } else { false }
    }

    static func wrongDigest(_ found: [UInt8], not expected: [UInt8], of path: String) -> ServiceError {
        let (found, expected) = (Hexadecimal.encode(found), Hexadecimal.encode(expected))
        let message = "\(path) would have the SHA-256 \(found), and \(expected) was expected"
        return .transport(TransportFailure(.digestMismatch, message))
    }

    static func brokenOff(after offset: Int, of total: Int?) -> ServiceError {
        let whole = total.map { " of \($0)" } ?? ""
        return .transport(TransportFailure(.truncated, "the body ended after \(offset)\(whole) bytes"))
    }

    static func tooMuch(for end: Int?) -> ServiceError {
        let end = end.map { "byte \($0)" } ?? "its end"
        return .transport(TransportFailure(.malformed, "the server has sent more than it announced, beyond \(end)"))
    }

    /// A file that was requested as it is, and comes in a coding.
    static func compressed(by coding: String) -> ServiceError {
        let coding = HTTPSyntax.quoted(coding)
        let message =
            "the server has sent the file with the content coding \(coding), which was not requested"
        return .transport(TransportFailure(.malformed, message))
    }

    /// A success that does not hold what was requested.
    static func unexpected(_ status: Int) -> ServiceError {
        let what = status == 206 ? "a part of the file that was not requested" : "the status \(status) and not the file"
        return .transport(TransportFailure(.malformed, "the server has sent \(what)"))
    }
}
