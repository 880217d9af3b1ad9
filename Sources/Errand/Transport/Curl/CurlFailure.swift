#if os(Linux)
import CCurl
#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// The error that a result of libcurl stands for.
struct CurlFailure {
    /// The words about a thread that cannot be started, as libcurl has them for its own.
    static let noThread = "thread failed to start"

    /// The result; `nil` if the transfer was stopped because the transport was shut down.
    private let code: ccurl_code?
    private let facts: ccurl_failure
    private let request: ccurl_request
    private let head: ccurl_head_lines

    /// Reads what is known of the transfer, whose handle may not be given back while this is in use.
    init(_ code: ccurl_code?, of handle: CurlHandle) {
        self.code = code
        facts = ccurl_transfer_failure(handle.transfer)
        request = ccurl_transfer_request(handle.transfer)
        head = ccurl_transfer_head(handle.transfer)
    }

    var error: ServiceError {
        switch facts.reason {
        case CCURL_BODY_TOO_LARGE: return .bodyTooLarge(request.body_limit)
        case CCURL_HEAD_TOO_LARGE:
            return failure(.malformed, "the head of the response is larger than \(request.head_limit) bytes")
        case CCURL_TWO_LENGTHS: return failure(.malformed, "the response has two different lengths")
        case CCURL_BAD_LENGTH:
            return failure(.malformed, "the response has a Content-Length that is not one number")
        case CCURL_BAD_TRANSFER_CODING:
            return failure(.malformed, Self.badTransferCoding)
        case CCURL_BAD_FIELD: return failure(.malformed, Self.badLine)
        case CCURL_BAD_TRAILER: return failure(.malformed, Self.badChunks)
        case CCURL_TRAILER_TOO_LARGE:
            return failure(.malformed, "the response has a trailer of more than \(request.head_limit) bytes")
        case CCURL_UPGRADED:
            return failure(.malformed, "the server changed to another protocol, which was not asked for")
        case CCURL_REPEATED: return repeated
        case CCURL_PERMIT_ENDED:
            let message = "the permit of the rate limit, or the lock of the refresh, ended before the request was sent"
            return .transport(TransportFailure(.reset, message, mayHaveReachedServer: false))
        default: break
        }
        guard let code else { return .transportShutDown(mayHaveReachedServer: hasSent) }
        switch code {
        case CCURLE_COULDNT_RESOLVE_HOST where hasNoThread, CCURLE_OUT_OF_MEMORY where hasNoThread:
            return failure(.outOfResources, "the system allows the process no further thread (see `ulimit -u`)")
        case CCURLE_COULDNT_RESOLVE_HOST: return ccurl_has_descriptors() ? failure(.dns) : .curlHasNoDescriptors
        case CCURLE_COULDNT_RESOLVE_PROXY, CCURLE_PROXY: return proxyFailure
        // The proxy's response to CONNECT, which is no response to the request.
        case CCURLE_WEIRD_SERVER_REPLY where !hasSent && !hasAnswer: return proxyFailure
        case CCURLE_RECV_ERROR where hasNoTunnel: return proxyFailure
        case CCURLE_COULDNT_CONNECT: return couldNotConnect
        case CCURLE_QUIC_CONNECT_ERROR: return failure(.refused)
        case CCURLE_OPERATION_TIMEDOUT:
            return .transport(TransportFailure(.unreachable, "no connection in time", mayHaveReachedServer: hasSent))
        case CCURLE_SSL_CONNECT_ERROR, CCURLE_SSL_CLIENTCERT: return failure(.tls)
        case CCURLE_PEER_FAILED_VERIFICATION, CCURLE_SSL_PINNEDPUBKEYNOTMATCH, CCURLE_SSL_INVALIDCERTSTATUS:
            return failure(.untrustedCertificate)
        case CCURLE_PARTIAL_FILE: return failure(.truncated)
        case CCURLE_GOT_NOTHING where hasDied, CCURLE_SEND_ERROR where hasDied, CCURLE_RECV_ERROR where hasDied,
            CCURLE_SEND_FAIL_REWIND:
            return died
        case CCURLE_RECV_ERROR where hasRefusedClient: return failure(.tls)
        // libcurl has one result for a connection that broke off, for malformed chunks and for too large a head.
        case CCURLE_RECV_ERROR where words.contains("chunk"): return failure(.malformed, Self.badChunks)
        case CCURLE_RECV_ERROR where words.contains("response headers"): return failure(.malformed)
        // The server closed the stream without an error, and libcurl 7.88 dropped the response that came with that.
        case CCURLE_HTTP2_STREAM where facts.has_upload && ownWords.isEmpty:
            return failure(.truncated, "the server responded before it had read the request, and libcurl lost that")
        // An interim response is nothing to libcurl.
        case CCURLE_GOT_NOTHING where head.is_complete: return endedBeforeResponse
        // The connection of HTTP/2 or HTTP/3, or its stream: a server that ends its connections causes both.
        case CCURLE_HTTP2, CCURLE_HTTP3, CCURLE_RECV_ERROR, CCURLE_HTTP2_STREAM, CCURLE_GOT_NOTHING, CCURLE_SEND_ERROR:
            return failure(hasAnswer ? .truncated : .reset)
        // Before anything was sent this libcurl was built without the scheme; afterwards the response is meant.
        case CCURLE_UNSUPPORTED_PROTOCOL where !hasSent: return failure(.unsupported)
        case CCURLE_UNSUPPORTED_PROTOCOL: return failure(.malformed)
        case CCURLE_WEIRD_SERVER_REPLY where words.contains("Content-Length"):
            return failure(.malformed, "the response has a Content-Length that is not one number")
        // Only chunks and trailers come after the head.
        case CCURLE_WEIRD_SERVER_REPLY where head.is_complete: return failure(.malformed, Self.badChunks)
        case CCURLE_WEIRD_SERVER_REPLY where isWithinHead: return failure(.malformed, Self.badLine)
        case CCURLE_WEIRD_SERVER_REPLY: return failure(.malformed)
        case CCURLE_SSL_CACERT_BADFILE:
            return .badSetting(
                "the file of certificate authorities, `certificateAuthorities` or else the system's, cannot be read: "
                    + words)
        case CCURLE_SSL_CERTPROBLEM:
            return .badSetting("the client certificate or its key cannot be used: \(words)")
        case CCURLE_NOT_BUILT_IN, CCURLE_SSL_ENGINE_NOTFOUND, CCURLE_SSL_ENGINE_SETFAILED, CCURLE_SSL_CIPHER,
            CCURLE_SSL_ENGINE_INITFAILED, CCURLE_SSL_CRL_BADFILE, CCURLE_SSL_ISSUER_ERROR:
            return failure(.unsupported)
        // When libcurl's parser of header fields refuses a line, it blames the argument.
        case CCURLE_BAD_FUNCTION_ARGUMENT where isWithinHead:
            return failure(.malformed, Self.badLine)
        case CCURLE_BAD_FUNCTION_ARGUMENT where hasAnswer: return failure(.malformed, Self.badChunks)
        // The shim refuses bytes without a reason only if it has no memory for them.
        case CCURLE_WRITE_ERROR where hasAnswer: return failure(.outOfResources, "there is no memory left")
        // Content codings are nothing to libcurl, so this is about a transfer coding. Newer versions refuse it before
        // the shim sees its line.
        case CCURLE_BAD_CONTENT_ENCODING: return failure(.malformed, Self.badTransferCoding)
        // libcurl reports a line of more than 100 kilobytes as a lack of memory; since 8.6 as TOO_LARGE, like too many
        // lines.
        case CCURLE_OUT_OF_MEMORY where isWithinHead, CCURLE_TOO_LARGE where isWithinHead:
            return failure(.malformed, "a line in the head of the response is too long")
        case CCURLE_OUT_OF_MEMORY where hasSent && !hasAnswer, CCURLE_TOO_LARGE where hasSent && !hasAnswer:
            return failure(.malformed, "the first line in the head of the response is too long")
        case CCURLE_TOO_LARGE where hasAnswer: return failure(.malformed)
        case CCURLE_OUT_OF_MEMORY: return .curlHasNoMemory
        default: return failure(.other)
        }
    }

    private static let endedEarly = "the connection ended before the response"
    private static let badLine = "a line in the head of the response is no header field"
    private static let badChunks = "the chunked body of the response is malformed, or its trailer is"
    private static let badTransferCoding = "the response has a transfer coding that was not asked for"

    /// The error for a request that libcurl was about to send again by itself.
    private var repeated: ServiceError {
        switch facts.repetition {
        // The server has promised that it did not work on it (RFC 9113, 8.7).
        case CCURL_REFUSED:
            let message = "the server refused the request before it worked on it"
            return .transport(TransportFailure(.reset, message, mayHaveReachedServer: false))
        case CCURL_DOWNGRADED:
            let message = "the server wants HTTP/1.1 for this request, which the next attempt uses"
            return .transport(TransportFailure(.reset, message, mayHaveReachedServer: false))
        // An interim response is nothing to libcurl.
        default: return hasAnswer ? endedBeforeResponse : died
        }
    }

    private var endedBeforeResponse: ServiceError { failure(.truncated, Self.endedEarly) }

    /// The error for a request whose connection, which was kept or which other requests had joined, died.
    private var died: ServiceError {
        guard facts.was_on_kept_connection else { return failure(.reset, Self.endedEarly) }
        return failure(
            .reset,
            hasSent
                ? "the server closed the connection that was kept, and did not respond"
                : "the server had closed the connection that was kept before it got the request")
    }

    /// Whether the connection was a kept one, and nothing of a response came.
    private var hasDied: Bool { facts.was_on_kept_connection && !hasAnswer }

    private var couldNotConnect: ServiceError {
        switch facts.socket_error {
        case EMFILE, ENFILE: return .curlHasNoDescriptors
        case ENOBUFS, ENOMEM: return .curlHasNoMemory
        default: break
        }
        if request.is_local { return localRefusal }
        return switch facts.connection_error {
        case ENETUNREACH, ENETDOWN: .noInternetConnection
        case EHOSTUNREACH, EHOSTDOWN, ETIMEDOUT: failure(.unreachable)
        default: isForProxy ? proxyFailure : failure(.refused)
        }
    }

    /// The error for a proxy that failed. One that refuses the client, or that no URL names, does so next time too.
    private var proxyFailure: ServiceError {
        let error = failure(.proxy)
        let passing = ["response 408", "HTTP code 408", "response 429", "HTTP code 429"]
        let isRefusal = ["response 4", "HTTP code 4"].contains(where: words.contains)
        let isLasting = hasBadProxy || isRefusal && !passing.contains(where: words.contains)
        guard isLasting, case .transport(var failure) = error else { return error }
        failure.isLasting.value = true
        return .transport(failure)
    }

    /// The error for a Unix socket that did not take a connection. libcurl 7.88 has no number for a full queue.
    private var localRefusal: ServiceError {
        let problem = facts.socket_error == 0 ? facts.connection_error : facts.socket_error
        let isFull = problem == 0 || problem == EAGAIN
        let words = isFull ? "the server takes no more connections now" : String(cString: strerror(problem))
        return failure(.refused, words)
    }

    /// Whether a connection to a proxy failed. libcurl does not report one that the environment names.
    private var isForProxy: Bool {
        request.has_own_proxy || hasNoTunnel || hasBadProxy
    }

    /// Whether the environment names a proxy by a URL that is none.
    private var hasBadProxy: Bool { ownWords.hasPrefix("Unsupported proxy") }

    /// Whether the proxy refused to make a tunnel, or closed the connection when it was asked to.
    private var hasNoTunnel: Bool { words.contains("CONNECT") }

    /// Whether the server refused the client's certificate: in TLS 1.3 it says so only after the handshake.
    private var hasRefusedClient: Bool {
        !hasAnswer && words.contains(" alert ")
            && ["certificate", "unknown ca", "access denied"].contains { words.contains($0) }
    }

    /// Whether a thread could not be started: that of the loop, or one of libcurl's for a lookup.
    private var hasNoThread: Bool { words.contains(Self.noThread) }

    private var hasSent: Bool { facts.may_have_been_seen }
    private var hasAnswer: Bool { head.length > 0 }
    private var isWithinHead: Bool { hasAnswer && !head.is_complete }

    private func failure(_ kind: TransportFailure.Kind, _ message: String? = nil) -> ServiceError {
        let mayHaveReachedServer =
            switch kind {
            // Only the proxy has seen what was sent.
            case .tls, .untrustedCertificate, .proxy: false
            default: hasSent
            }
        return .transport(TransportFailure(kind, message ?? words, mayHaveReachedServer: mayHaveReachedServer))
    }

    /// libcurl's own words about what happened, or else its description of the result.
    private var words: String {
        let own = ownWords
        // libcurl quotes a proxy URL that it does not understand, including the password.
        return own.isEmpty || own.contains("@") ? String(cString: ccurl_describe(code ?? CCURLE_OK)) : own
    }

    private var ownWords: String { String(cString: facts.words) }
}

extension ServiceError {
    static var curlHasNoMemory: ServiceError {
        .transport(TransportFailure(.outOfResources, "there is no memory left"))
    }

    /// This error, or if it is about a connection to that Unix socket, one that names it.
    func naming(unixSocket path: String?) -> ServiceError {
        guard let path, case .transport(let failure) = self, failure.kind == .refused else { return self }
        let words = "the Unix socket \(HTTPSyntax.quoted(path)): \(failure.message)"
        return .transport(TransportFailure(.refused, words))
    }

    static var curlHasNoDescriptors: ServiceError {
        let advice = "the process has as many files and connections open as it may (see `ulimit -n`)"
        return .transport(TransportFailure(.outOfResources, advice))
    }
}
#endif
