/// A place in a distributed trace, as programs pass it on in the headers `traceparent` and `tracestate` of W3C's Trace
/// Context.
///
/// While one is current, every send of a client carries it: retries, redirects on the client's own origin, streams and
/// the pages of a list, each with an identifier of its own as the parent of what the server does. A server passes on
/// what its own request has brought:
///
///     let trace = TraceContext(parent: headers["traceparent"] ?? "", state: headers["tracestate"])
///     let friends = try await TraceContext.run(in: trace) {
///         try await client.run(.friends)
///     }
///
/// A send whose request already has a `traceparent` keeps it. A request that a redirect leads to another origin carries
/// none. A token refresh carries the trace of the call that began it, if any.
public struct TraceContext: Sendable, Hashable, CustomStringConvertible {
    /// The trace of the calls that this task makes; `nil` for none, which is the default.
    @TaskLocal public static var current: TraceContext?

    /// The identifier of the whole trace: 32 hexadecimal digits.
    public let traceID: String
    /// The identifier of the operation that makes the calls: 16 hexadecimal digits.
    public let parentID: String
    /// Whether the trace is recorded, as its beginning has decided.
    public let isSampled: Bool
    /// What tracing systems have added: the value of `tracestate`.
    public let state: String?

    /// Begins a trace.
    ///
    /// - Parameters:
    ///   - isSampled: Whether programs that the trace reaches should record it.
    ///   - time: The source of the random identifiers.
    public init(isSampled: Bool = true, time: any TimeSource = .system) {
        traceID = time.randomIdentifier() + time.randomIdentifier()
        parentID = time.randomIdentifier()
        self.isSampled = isSampled
        state = nil
    }

    /// Continues the trace of a request that was received; `nil` if its header is malformed, or not there.
    ///
    /// - Parameters:
    ///   - parent: The value of `traceparent`.
    ///   - state: The value of `tracestate`; several lines joined with commas. One that no header can have is ignored.
    public init?(parent: String, state: String? = nil) {
        let parts = parent.trimmed.split(separator: "-", maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count >= 4, parts[0].isHex(2), parts[0] != "ff",
            // Later versions may add parts.
            parts[0] != "00" || parts.count == 4,
            parts[1].isHex(32), !parts[1].utf8.allSatisfy({ $0 == 0x30 }),
            parts[2].isHex(16), !parts[2].utf8.allSatisfy({ $0 == 0x30 }),
            parts[3].isHex(2), let flags = UInt8(parts[3], radix: 16)
        else { return nil }
        traceID = String(parts[1])
        parentID = String(parts[2])
        isSampled = flags & 1 == 1
        self.state = state.flatMap { $0.isEmpty || !HTTPSyntax.isFieldValue($0) ? nil : $0 }
    }

    /// Runs an operation whose calls carry that trace; with `nil`, they carry none. Returns what it returns, and throws
    /// what it throws.
    ///
    /// Unlike `$current.withValue`, it keeps the type of the error. A closure names it, because the compiler does not
    /// infer it:
    ///
    ///     let friends = try await TraceContext.run(in: trace) { () async throws(ServiceError) in
    ///         try await client.run(.friends)
    ///     }
    public static func run<Value, Failure: Error>(
        in trace: TraceContext?, isolation: isolated (any Actor)? = #isolation,
        _ operation: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await $current.bound(to: trace, operation)
    }

    /// The value of `traceparent`.
    public var description: String { traceParent(of: parentID) }

    private func traceParent(of id: String) -> String { "00-\(traceID)-\(id)-0\(isSampled ? 1 : 0)" }

    /// Adds the headers of a send with an identifier of its own, unless the request has such headers.
    func add(to headers: inout HTTPHeaders, time: any TimeSource) {
        guard headers["traceparent"] == nil else { return }
        headers["traceparent"] = traceParent(of: time.randomIdentifier())
        if let state { headers["tracestate"] = state }
    }
}

extension Substring {
    fileprivate func isHex(_ count: Int) -> Bool {
        utf8.count == count && utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}

extension TimeSource {
    /// Returns 16 hexadecimal digits, of which one at least is not 0.
    fileprivate func randomIdentifier() -> String {
        let digits = String(max(1, random()), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
