import ErrandJSON
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What chooses the bytes that a server answers with: the address, the session and the headers. A part belongs to all
/// of them, and a download that differs in one begins again (`D15`): equal tags do not suffice, because many a server
/// counts the versions of each user's file from 1.
///
/// Every header counts, because any may choose the answer, except:
/// - well-known ones that differ in each request, such as its identifier, unless `Vary` names them;
/// - those for which a client's closure returns two values when it is asked twice in a row;
/// - those for which it returns the time.
///
/// So do common parameters. A session counts by its identifier, which is saved with its token and outlives it. An
/// `Authorization` that is not the session's counts like any other header.
struct DownloadSource: Sendable {
    /// Where the request goes, and in which session.
    private let facts: [String]
    /// The headers and parameters that count, by name.
    private let fields: [String: Field]
    /// What the client's closures returned when they were asked once more.
    private let again: [String: Field]
    /// The names of the headers that differ each time.
    private let changing: Set<String>
    private let isSigned: Bool

    /// The values of a header or a parameter.
    private enum Field: Sendable, Hashable {
        case values([String])
        /// The time of the request. Its seconds say nothing about whom the bytes are for.
        case time
    }

    /// - Parameters:
    ///   - request: The request that the client has built for the endpoint.
    ///   - again: Another one, if the client's closures add something to each call.
    ///   - session: The session that signs it.
    ///   - isQueryCounted: `false` if the query is a signature, which is another one each time.
    ///   - clock: The time at which the requests were built.
    init(
        of endpoint: UntypedEndpoint, as request: HTTPRequest, and again: HTTPRequest?, session: UUID?,
        isQueryCounted: Bool, at clock: ClosedRange<Date>
    ) {
        /// Reads the fields, of which those of the endpoint itself are the same in each request.
        func fields(of request: HTTPRequest) -> [String: Field] {
            var fields: [String: Field] = [:]
            func add(_ name: String, _ values: [String], isOwn: Bool) {
                let isTime = again != nil && !isOwn && values.allSatisfy { $0.isReading(of: clock) }
                fields[name] = isTime ? .time : .values(values)
            }
            for name in Set(request.headers.map { $0.name.lowercased() }).subtracting(Self.passing) {
                add(name, request.headers.values(name), isOwn: endpoint.headers[name] != nil)
            }
            for (name, values) in isQueryCounted ? request.url.parameters : [:] {
                let isOwn = endpoint.names(name)
                guard isOwn || !Self.passingParameters.contains(name.lowercased()) else { continue }
                // A header's name has no question mark.
                add("?\(name)", values, isOwn: isOwn)
            }
            return fields
        }
        facts = ["\(request.method) \(request.url.place)", session?.uuidString ?? ""]
        let found = fields(of: request)
        let next = again.map(fields) ?? found
        (self.fields, self.again) = (found, next)
        changing = Set(found.keys).union(next.keys).filter { found[$0] != next[$0] }
        isSigned = session != nil
    }

    /// Returns whether the bytes of one are those of the other, if the server says so.
    ///
    /// A value that changes once in a while, such as a signature over the second, may have changed between the two
    /// requests of one source and not between those of the other. So may another user's name, if that user signs in
    /// just then; but then one source has seen the values of both users, and the other has one of them.
    func isSame(as other: DownloadSource) -> Bool {
        facts == other.facts
            && Set(fields.keys).union(other.fields.keys).allSatisfy { name in
                if fields[name] == other.fields[name] { return true }
                switch (changing.contains(name), other.changing.contains(name)) {
                case (true, true): return true
                case (false, false): return false
                case (true, false): return again[name] != other.fields[name]
                case (false, true): return fields[name] != other.again[name]
                }
            }
    }

    /// Returns a hash of what is known before the request is sent.
    func hash(with key: String) -> String {
        let names = fields.keys.filter { !changing.contains($0) }.sorted()
        return Self.hash(
            facts
                + names.map { name in
                    switch fields[name] {
                    case .values(let values)?: "\(name): \(values.joined(separator: "\n"))"
                    case .time?, nil: name
                    }
                }, with: key)
    }

    /// Returns a hash of what is known with the response: where it comes from, and which headers were sent, with those
    /// that middlewares have added.
    func hash(of response: HTTPHeaders, from place: String, to sent: HTTPHeaders, with key: String) -> String {
        let names = FieldParser.elements(of: response.values("Vary")) ?? ["*"]
        let varying = Set(names.lazy.compactMap(\.asName))
        var ignored = changing.union(fields.keys.filter { fields[$0] == .time })
        if !varying.contains("*") { ignored.formUnion(Self.passing.subtracting(varying)) }
        if isSigned { ignored.insert("authorization") }
        return Self.hash([place] + Self.facts(of: sent, except: ignored.union(Self.ofDownloads)), with: key)
    }

    private static func facts(of headers: HTTPHeaders, except ignored: Set<String>) -> [String] {
        // In the order of their names; a name that repeats keeps the order of its values.
        Set(headers.map { $0.name.lowercased() }).subtracting(ignored).sorted().map { name in
            "\(name): \(headers.values(name).joined(separator: "\n"))"
        }
    }

    /// The key is as long as a block of the hash has room for, and no fact holds a NUL.
    private static func hash(_ facts: [String], with key: String) -> String {
        Hexadecimal.encode(SHA256.hash(of: Data("\(key)\0\(facts.joined(separator: "\0"))".utf8)))
    }

    /// The headers that a download sets by itself.
    private static let ofDownloads: Set<String> = ["accept-encoding", "if-range", "range"]

    /// The well-known headers that differ in each request, or with each version of an app, and choose no answer. A
    /// signature proves who asks; who that is, another header says.
    private static let passing: Set<String> = [
        "b3", "baggage", "correlation-id", "date", "dpop", "idempotency-key", "nonce", "request-id", "sentry-trace",
        "signature", "signature-input", "timestamp", "traceparent", "tracestate", "uber-trace-id", "user-agent",
        "x-amz-date", "x-amzn-trace-id", "x-b3-flags", "x-b3-parentspanid", "x-b3-sampled", "x-b3-spanid",
        "x-b3-traceid", "x-client-request-id", "x-cloud-trace-context", "x-correlation-id", "x-datadog-parent-id",
        "x-datadog-sampling-priority", "x-datadog-trace-id", "x-ms-client-request-id", "x-nonce", "x-request-id",
        "x-signature", "x-timestamp", "x-trace-id",
    ]

    /// The well-known parameters that clients add to each call, and that choose no answer.
    private static let passingParameters: Set<String> = ["nonce", "signature", "timestamp", "ts"]
}

extension UntypedEndpoint {
    /// Returns whether the endpoint has a parameter with that name, beside those that clients add to each call.
    fileprivate func names(_ parameter: String) -> Bool {
        target != nil || query.items.contains { $0.name == parameter }
    }
}

extension HTTPURL {
    /// The URL without its query, which may be a signature.
    var place: String { origin.description + path }

    /// The parameters of the query by name, as they are written.
    fileprivate var parameters: [String: [String]] {
        var parameters: [String: [String]] = [:]
        for parameter in query?.split(separator: "&") ?? [] {
            let name = parameter.prefix(before: "=")
            parameters[String(name), default: []].append(
                String(Substring(parameter.utf8.dropFirst(name.utf8.count + 1))))
        }
        return parameters
    }
}

extension String {
    /// Returns whether the text is the time: the seconds, milliseconds or microseconds since 1970, or a date as ISO
    /// 8601 or HTTP write it, percent-encoded or not. It may be two seconds off, because clocks are read as whole
    /// seconds.
    func isReading(of clock: ClosedRange<Date>) -> Bool {
        let text = PercentEncoding.decode(self)
        // Text that is not a date is nearly always recognized by these.
        guard let first = text.utf8.first, let last = text.utf8.last, text.utf8.count <= 40 else { return false }
        let seconds = clock.lowerBound.timeIntervalSince1970 - 2...clock.upperBound.timeIntervalSince1970 + 2
        func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
        if isDigit(first), isDigit(last), let number = Double(text) {
            return [1, 1e3, 1e6].contains { seconds.contains(number / $0) }
        }
        let date =
            isDigit(first)
            ? Date(iso8601: text, withFractions: true) : HTTPDate.parse(text, now: clock.upperBound)
        return date.map { seconds.contains($0.timeIntervalSince1970) } ?? false
    }
}
