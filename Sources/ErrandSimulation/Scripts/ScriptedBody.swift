public import Errand
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A body that comes in chunks, in the client's time.
struct ScriptedBody: Sendable {
    enum End: Sendable {
        case complete, silence
        case failure(TransportFailure.Kind)
    }

    var chunks: [Data]
    /// The time before each chunk. It passes whether somebody reads or not, as on a network.
    var pause = Duration.zero
    var end = End.complete

    /// Returns the body of a response whose head comes at `start`.
    func body(from start: Instant, by time: any TimeSource) -> HTTPBody {
        .stream(opening: { [self] in
            let next = Lock(0)
            return HTTPBody.Chunks {
                let index = next.withLock { index in
                    defer { index += 1 }
                    return index
                }
                guard index < chunks.count else { return try await end(by: time) }
                let due = start.advanced(by: pause * (index + 1))
                try await time.sleep(until: due, for: .sleeper("a chunk of a scripted body"), in: CallScope())
                return chunks[index]
            }
        })
    }

    private func end(by time: any TimeSource) async throws -> Data? {
        switch end {
        case .complete: return nil
        case .failure(let kind): throw ServiceError.transport(TransportFailure(kind, "scripted"))
        case .silence:
            let purpose = Alarm.Purpose.sleeper("a scripted body that falls silent")
            try await time.sleep(until: .distantFuture, for: purpose, in: CallScope())
            throw ServiceError.cancelled
        }
    }
}

extension ScriptedReply {
    /// Creates a response whose body comes in those chunks, with a pause before each.
    public static func chunks(
        _ chunks: [Data], every pause: Duration = .zero, status: Int = 200, headers: HTTPHeaders = [:]
    ) -> ScriptedReply {
        var reply = ScriptedReply.response(HTTPResponse(status: status, headers: headers))
        reply.body = ScriptedBody(chunks: chunks, pause: pause)
        return reply
    }

    /// Creates an event stream with those events, with a pause before each. With `retry`, it begins with the server's
    /// wish how long a client should wait before it connects again.
    public static func events(
        _ events: [ServerSentEvent], every pause: Duration = .zero, retry: Duration? = nil
    ) -> ScriptedReply {
        chunks(
            events.texts(retry: retry), every: pause, headers: ["Content-Type": ServerSentEvent.contentType])
    }

    /// Returns the same reply, whose body comes in pieces of that many bytes, with a pause before each. Does nothing to
    /// a reply without a body in memory.
    public func inPieces(of count: Int, every pause: Duration) -> ScriptedReply {
        guard case .response(let response) = outcome, let bytes = response.body.bytes else { return self }
        return with { $0.body = ScriptedBody(chunks: bytes.pieces(of: count), pause: pause) }
    }

    /// The same reply, whose body does not end: after its last byte the server says nothing more. Does nothing to a
    /// reply without a body.
    public var thenSilence: ScriptedReply { ending(.silence) }

    /// Returns the same reply, whose body breaks off after its last byte. Does nothing to a reply without a body.
    public func thenFailure(_ kind: TransportFailure.Kind = .truncated) -> ScriptedReply { ending(.failure(kind)) }

    private func ending(_ end: ScriptedBody.End) -> ScriptedReply {
        var body = body
        if body == nil, case .response(let response) = outcome {
            body = response.body.bytes.map { ScriptedBody(chunks: $0.isEmpty ? [] : [$0]) }
        }
        body?.end = end
        return with { $0.body = body }
    }
}

extension ServerSentEvent {
    static let contentType = "text/event-stream"

    /// The event as a server writes it.
    var text: Data {
        var lines = id.isEmpty ? "" : "id: \(id)\n"
        if type != "message" { lines += "event: \(type)\n" }
        // CR, LF and CRLF, which is one character, all end a line.
        for line in data.split(omittingEmptySubsequences: false, whereSeparator: { ["\n", "\r", "\r\n"].contains($0) })
        {
            lines += "data: \(line)\n"
        }
        return Data("\(lines)\n".utf8)
    }
}

extension [ServerSentEvent] {
    /// The events as a server writes them; the first with its wish how long to wait before the next connection.
    func texts(retry: Duration?) -> [Data] {
        guard let retry else { return map(\.text) }
        let wish = Data("retry: \(Int(retry / .milliseconds(1)))\n".utf8)
        return isEmpty ? [wish + Data("\n".utf8)] : enumerated().map { $0 == 0 ? wish + $1.text : $1.text }
    }
}

extension Data {
    /// The bytes in pieces of that size; the last may be smaller.
    func pieces(of count: Int) -> [Data] {
        let size = Swift.max(1, count)
        // Not slices, whose first index is not 0.
        return stride(from: 0, to: self.count, by: size).map { Data(dropFirst($0).prefix(size)) }
    }
}
