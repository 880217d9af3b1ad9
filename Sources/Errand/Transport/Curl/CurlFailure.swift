#if os(Linux)
import CCurl
#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// What a result of libcurl means.
struct CurlFailure {
    /// The result; `nil` if the transfer was stopped because the transport was shut down.
    let code: CInt?
    let transfer: UnsafeMutablePointer<ccurl_transfer>

    var error: ServiceError {
        switch Int(transfer.pointee.objection) {
        case CCURL_BODY_TOO_LARGE: return .bodyTooLarge(transfer.pointee.body_limit)
        case CCURL_HEAD_TOO_LARGE:
            return failure(.malformed, "the head of the answer is larger than \(transfer.pointee.head_limit) bytes")
        case CCURL_TWO_LENGTHS: return failure(.malformed, "the answer has two different lengths")
        default: break
        }
        guard let code else { return .transportShutDown(mayHaveReachedServer: hasSent) }
        switch code {
        case 6: return failure(.dns)
        case 5, 97: return failure(.proxy)
        case 56 where hasNoTunnel: return failure(.proxy)
        case 7: return couldNotConnect
        case 28:
            return .transport(TransportFailure(.unreachable, "no connection in time", mayHaveReachedServer: hasSent))
        case 35, 98: return failure(.tls)
        case 51, 60, 90, 91: return failure(.untrustedCertificate)
        case 18: return failure(.truncated)
        case 52, 55, 65: return failure(.reset)
        case 56 where hasRefusedClient: return failure(.tls)
        // libcurl has one result for a connection that broke off, for chunks that make no sense and for too large a head.
        case 56 where words.contains("chunked-encoding") || words.contains("response headers"):
            return failure(.malformed)
        // 16 and 92 are HTTP/2's: the connection, or the stream. A server that ends its connections brings about both.
        case 16, 56, 92: return failure(hasAnswer ? .truncated : .reset)
        // Before anything was sent it is the scheme that this libcurl was built without; after it, the answer.
        case 1 where !hasSent: return failure(.unsupported)
        case 1, 8, 61: return failure(.malformed)
        case 4, 53, 54, 58, 59, 66, 77, 82, 83: return failure(.unsupported)
        // A line of more than 100 kilobytes is a lack of memory to libcurl, since 8.6 too large a thing, as are too many lines.
        case 27 where isWithinHead: return failure(.malformed, "a line in the head of the answer is too long")
        case 100 where isWithinHead: return failure(.malformed)
        case 27: return failure(.unavailable)
        default: return failure(.other)
        }
    }

    private var couldNotConnect: ServiceError {
        switch CInt(truncatingIfNeeded: ccurl_get_long(transfer, CurlInfo.systemError)) {
        case ENETUNREACH, ENETDOWN: .noInternetConnection
        case EHOSTUNREACH, EHOSTDOWN, ETIMEDOUT: failure(.unreachable)
        default: failure(isForProxy || hasNoTunnel || ownWords.hasPrefix("Unsupported proxy") ? .proxy : .refused)
        }
    }

    /// Whether it is a proxy that connections are made to. Of one that the environment names, libcurl does not tell.
    private var isForProxy: Bool { transfer.pointee.has_own_proxy != 0 }

    /// The proxy has refused to make a tunnel, or has gone while it was asked to.
    private var hasNoTunnel: Bool { words.contains("CONNECT") }

    /// In TLS 1.3 a server says only after the handshake that it will not have this client.
    private var hasRefusedClient: Bool {
        !hasAnswer && words.contains(" alert ")
            && ["certificate", "unknown ca", "access denied"].contains { words.contains($0) }
    }

    /// Of a transfer that never began, libcurl tells what the one before it sent.
    private var hasSent: Bool {
        let hasBegun = transfer.pointee.tries > 0 || ccurl_tells_connected() == 0
        return hasBegun && ccurl_get_long(transfer, CurlInfo.requestSize) > 0
    }
    private var hasAnswer: Bool { transfer.pointee.head_length > 0 }
    private var isWithinHead: Bool { hasAnswer && transfer.pointee.head_complete == 0 }

    private func failure(_ kind: TransportFailure.Kind, _ message: String? = nil) -> ServiceError {
        let mayHaveReachedServer =
            switch kind {
            // What was sent was for the proxy.
            case .tls, .untrustedCertificate, .proxy: false
            default: hasSent
            }
        return .transport(TransportFailure(kind, message ?? words, mayHaveReachedServer: mayHaveReachedServer))
    }

    /// What libcurl says happened, or else what kind of thing that is.
    private var words: String {
        let own = ownWords
        // A proxy's URL that it does not understand libcurl shows whole, with the password.
        return own.isEmpty || own.contains("@") ? String(cString: ccurl_describe(code ?? 0)) : own
    }

    private var ownWords: String {
        withUnsafePointer(to: &transfer.pointee.error) { pointer in
            pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
    }
}

extension ServiceError {
    static var curlHasNoMemory: ServiceError {
        .transport(TransportFailure(.unavailable, "libcurl has no memory left"))
    }
}
#endif
