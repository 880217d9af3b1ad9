public import Errand
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What a `LoopbackServer` writes for one request, piece by piece: an honest answer, or whatever a broken server might do.
public struct LoopbackReply: Sendable {
    /// One thing that is done with the connection.
    public enum Step: Sendable {
        /// These bytes are written.
        case write(Data)
        /// These bytes are written one by one, with a pause after each.
        case drip(Data, every: Duration)
        /// Nothing happens for so long.
        case pause(Duration)
        /// These bytes are written over and over, until the client has had enough.
        case repeatForever(Data)
        /// Nothing happens until the client goes away.
        case silence
        /// The connection is closed.
        case close
        /// The connection is reset.
        case reset
    }

    /// What is done, in order. A connection that has not been closed then serves the next request.
    public var steps: [Step]
    /// How many requests it is for; `nil` for any number.
    var count: Int? = 1

    /// Makes a reply of steps.
    public init(_ steps: [Step]) {
        self.steps = steps
    }

    /// An answer with a status, header fields and a body; its length is told.
    public static func status(_ status: Int, headers: HTTPHeaders = [:], body: Data = Data()) -> LoopbackReply {
        var fields = headers
        if fields["Content-Length"] == nil, status != 204, status != 304 {
            fields.add("Content-Length", "\(body.count)")
        }
        return LoopbackReply([.write(head(status, fields) + body)])
    }

    /// An answer of that JSON.
    public static func json(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> LoopbackReply {
        var fields = headers
        fields["Content-Type"] = fields["Content-Type"] ?? "application/json"
        return .status(status, headers: fields, body: Data(text.utf8))
    }

    /// An answer in those chunks, with a trailer if there are fields for one.
    public static func chunks(_ chunks: [Data], headers: HTTPHeaders = [:], trailer: HTTPHeaders = [:]) -> LoopbackReply
    {
        var fields = headers
        fields["Transfer-Encoding"] = "chunked"
        var steps: [Step] = [.write(head(200, fields))]
        for chunk in chunks {
            steps.append(.write(Data("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + Data("\r\n".utf8)))
        }
        let lines = trailer.map { "\($0.name): \($0.value)\r\n" }.joined()
        return LoopbackReply(steps + [.write(Data("0\r\n\(lines)\r\n".utf8))])
    }

    /// These bytes as they are; then, unless told otherwise, the connection is closed.
    public static func raw(_ text: String, then last: Step? = .close) -> LoopbackReply {
        LoopbackReply([.write(Data(text.utf8))] + (last.map { [$0] } ?? []))
    }

    /// No answer until the client goes away.
    public static let silence = LoopbackReply([.silence])
    /// The connection is closed without an answer.
    public static let close = LoopbackReply([.close])
    /// The connection is reset without an answer.
    public static let reset = LoopbackReply([.reset])

    /// The same after a pause.
    public func after(_ pause: Duration) -> LoopbackReply {
        with { $0.steps.insert(.pause(pause), at: 0) }
    }

    /// The same, and then the connection is closed without a word.
    public var thenClose: LoopbackReply {
        with { $0.steps.append(.close) }
    }

    /// The same for so many requests.
    public func times(_ count: Int) -> LoopbackReply {
        with { $0.count = count }
    }

    /// The same for all further requests.
    public var always: LoopbackReply {
        with { $0.count = nil }
    }

    /// The first line and the fields of an answer, with the empty line that ends them.
    public static func head(_ status: Int, _ headers: HTTPHeaders) -> Data {
        let fields = headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        return Data("HTTP/1.1 \(status) Status\r\n\(fields)\r\n".utf8)
    }

    private func with(_ change: (inout LoopbackReply) -> Void) -> LoopbackReply {
        var copy = self
        change(&copy)
        return copy
    }
}
