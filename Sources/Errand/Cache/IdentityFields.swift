/// Which request headers may say who asks, by their names: all but those of which it is known that they do not.
///
/// A list of the names that do would never be complete. `Authorization` and `Cookie` are the least of it: a proxy adds
/// `X-User-Id`, an API takes `Stripe-Account`, the next one something else (K7).
///
/// A name is looked at once: each request asks for all of its headers.
final class IdentityFields: Sendable {
    /// Requests do not have more different names than this, unless a program makes them up.
    private static let capacity = 256

    /// The names of headers that say what is asked for, in which form and by which program, or which request it is.
    static let anonymous: Set<String> = representation.union(connection).union(requests)

    /// What is asked for and by which program. What of it chooses the response, `Vary` names.
    private static let representation: Set<String> = [
        "accept", "accept-charset", "accept-datetime", "accept-encoding", "accept-language", "cache-control",
        "content-digest", "content-encoding", "content-language", "content-length", "content-type", "dnt", "if-match",
        "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "pragma", "prefer", "priority",
        "range", "repr-digest", "save-data", "user-agent", "x-requested-with",
    ]
    /// How it is sent.
    private static let connection: Set<String> = [
        "connection", "expect", "keep-alive", "max-forwards", "te", "trailer", "transfer-encoding", "upgrade",
        "upgrade-insecure-requests",
    ]
    /// Which request it is, of which trace, and when it was made: another one each time, whoever asks.
    private static let requests: Set<String> = [
        "b3", "baggage", "correlation-id", "date", "grpc-trace-bin", "idempotency-key", "nonce", "request-id",
        "sentry-trace", "timestamp", "traceparent", "tracestate", "uber-trace-id", "x-amz-date", "x-amzn-trace-id",
        "x-b3-flags", "x-b3-parentspanid", "x-b3-sampled", "x-b3-spanid", "x-b3-traceid", "x-client-request-id",
        "x-cloud-trace-context", "x-correlation-id", "x-datadog-origin", "x-datadog-parent-id",
        "x-datadog-sampling-priority", "x-datadog-trace-id", "x-idempotency-key", "x-ms-client-request-id", "x-nonce",
        "x-request-id", "x-timestamp", "x-trace-id",
    ]

    /// The names that a program calls secret.
    private let names: SecretNames
    private let anonymous: Set<String>
    private let known = Lock<[String: Bool]>([:])
    /// The names in the last request without such a header: most requests of a client have the same.
    private let plain = Lock<[String]>([])

    /// Adds a program's own names to those that say nothing.
    init(_ names: SecretNames, anonymous own: Set<String> = []) {
        self.names = names
        anonymous = Self.anonymous.union(own.map { $0.lowercased() })
    }

    /// Whether a header with that name may say who asks.
    func contains(_ name: String) -> Bool {
        if let isIdentity = known.withLock({ $0[name] }) { return isIdentity }
        let isIdentity = names.isOwn(name) || !anonymous.contains(name.lowercased())
        known.withLock { known in
            if known.count < Self.capacity { known[name] = isIdentity }
        }
        return isIdentity
    }

    private func contains(_ field: HTTPHeaders.Field) -> Bool { field.isSecret || contains(field.name) }

    /// Returns what a request says about who asks, as one text; `nil` if it says nothing.
    func identity(in headers: HTTPHeaders) -> String? {
        guard !isPlain(headers) else { return nil }
        guard headers.fields.contains(where: contains) else {
            plain.withLock { $0 = headers.fields.map(\.name) }
            return nil
        }
        var fields: [(name: String, value: String)] = []
        for field in headers.fields where contains(field) {
            let name = field.name.lowercased()
            // Several fields with a name are one list (RFC 9110, 5.3).
            if let index = fields.firstIndex(where: { $0.name == name }) {
                fields[index].value += ", \(field.value)"
            } else {
                fields.append((name, field.value))
            }
        }
        return fields.map { "\($0.name): \($0.value)" }.sorted().joined(separator: "\n")
    }

    private func isPlain(_ headers: HTTPHeaders) -> Bool {
        plain.withLock { names in
            names.count == headers.fields.count
                && zip(names, headers.fields).allSatisfy { $0 == $1.name && !$1.isSecret }
        }
    }

    /// Returns whether a request was sent as it was received: with the same method, URL and body, and with the same
    /// values in every header that may say who asks, except those with the names, in lower case, of `covered`.
    func isSame(_ received: HTTPRequest, _ sent: HTTPRequest, except covered: Set<String>) -> Bool {
        sent.method == received.method && sent.url == received.url && sent.body?.bytes == received.body?.bytes
            && (sent.body == nil) == (received.body == nil)
            && difference(received.headers, sent.headers).isSubset(of: covered)
    }

    /// Returns the names, in lower case, of the headers that may say who asks and are not the same in both requests.
    private func difference(_ received: HTTPHeaders, _ sent: HTTPHeaders) -> Set<String> {
        guard received != sent else { return [] }
        let names = (received.fields + sent.fields).filter(contains).map { $0.name.lowercased() }
        return Set(names).filter { received.values($0) != sent.values($0) }
    }
}
