public import Errand
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What a `LoopbackServer` writes for one request, piece by piece: an honest answer, or whatever a broken server might
/// do.
///
/// An answer is made and then, if it is to go wrong, changed:
///
///     server.on(.get, "/half", .json(#"["Ann"]"#).cut(.withinBody, by: .reset))
///     server.on(.get, "/slow", .json(#"["Ann"]"#).after(.seconds(60)).always)
///
/// For what there is no name for, there are `raw(_:then:)` and the steps themselves.
public struct LoopbackReply: Sendable {
    /// One thing that is done with the connection.
    public enum Step: Sendable {
        /// These bytes are written. Writes that follow each other go out together.
        case write(Data)
        /// These bytes are written one by one, with a pause after each.
        case drip(Data, every: Duration)
        /// Nothing happens for so long.
        case pause(Duration)
        /// These bytes are written over and over, until the client has had enough.
        case repeatForever(Data)
        /// The body of the request is read. Only a reply of `onHead` comes so early that it has not been.
        case readBody
        /// Nothing happens until the client goes away; what it sends is dropped.
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
    /// Whether the first write is a head and the others a body, which an answer to HEAD goes without.
    private var hasHead = false

    /// Makes a reply of steps.
    public init(_ steps: [Step]) {
        self.steps = steps
    }

    private init(head: Data, _ body: [Step]) {
        steps = [.write(head)] + body
        hasHead = true
    }

    /// What is done for a request of that method.
    func steps(for method: HTTPMethod) -> [Step] {
        guard hasHead, method == .head else { return steps }
        var isHeadWritten = false
        return steps.filter { step in
            guard step.length != nil else { return true }
            defer { isHeadWritten = true }
            return !isHeadWritten
        }
    }

    func with(_ change: (inout LoopbackReply) -> Void) -> LoopbackReply {
        var copy = self
        change(&copy)
        return copy
    }
}

extension LoopbackReply.Step {
    /// How many bytes it writes; `nil` if it writes none at all.
    var length: Int? {
        switch self {
        case .write(let data), .drip(let data, _): data.count
        case .repeatForever: .max
        case .pause, .readBody, .silence, .close, .reset: nil
        }
    }
}

extension LoopbackReply {
    /// An answer with a status, header fields and a body; its length is told.
    public static func status(_ status: Int, headers: HTTPHeaders = [:], body: Data = Data()) -> LoopbackReply {
        var fields = headers
        if fields["Content-Length"] == nil, fields["Transfer-Encoding"] == nil, status != 204, status != 304 {
            fields.add("Content-Length", "\(body.count)")
        }
        return LoopbackReply(head: head(status, fields), [.write(body)])
    }

    /// An answer of that JSON.
    public static func json(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> LoopbackReply {
        var fields = headers
        fields["Content-Type"] = fields["Content-Type"] ?? "application/json"
        return .status(status, headers: fields, body: Data(text.utf8))
    }

    /// A redirect to that place, written as it is given.
    public static func redirect(_ status: Int = 302, to location: String) -> LoopbackReply {
        .status(status, headers: ["Location": location])
    }

    /// An answer in those chunks, with a trailer if there are fields for one.
    public static func chunks(_ chunks: [Data], headers: HTTPHeaders = [:], trailer: HTTPHeaders = [:]) -> LoopbackReply
    {
        var fields = headers
        fields["Transfer-Encoding"] = "chunked"
        let pieces = chunks.map { chunk in
            Step.write(Data("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + Data("\r\n".utf8))
        }
        let end = Data("0\r\n\(lines(trailer))\r\n".utf8)
        return LoopbackReply(head: head(200, fields), pieces + [.write(end)])
    }

    /// An answer whose body never ends.
    public static func endless(_ status: Int = 200, headers: HTTPHeaders = [:]) -> LoopbackReply {
        LoopbackReply(head: head(status, headers), [.repeatForever(Data(repeating: 0x20, count: 65_536))])
    }

    /// These characters as they are, in UTF-8; then, unless told otherwise, the connection is closed.
    public static func raw(_ text: String, then last: Step? = .close) -> LoopbackReply {
        raw(Data(text.utf8), then: last)
    }

    /// These bytes as they are; then, unless told otherwise, the connection is closed.
    public static func raw(_ bytes: Data, then last: Step? = .close) -> LoopbackReply {
        LoopbackReply([.write(bytes)] + (last.map { [$0] } ?? []))
    }

    /// No answer until the client goes away.
    public static let silence = LoopbackReply([.silence])
    /// The connection is closed without an answer.
    public static let close = LoopbackReply([.close])
    /// The connection is reset without an answer.
    public static let reset = LoopbackReply([.reset])

    /// The same for so many requests.
    public func times(_ count: Int) -> LoopbackReply {
        with { $0.count = count }
    }

    /// The same for all further requests.
    public var always: LoopbackReply {
        with { $0.count = nil }
    }

    /// The first line and the fields of an answer, with the empty line that ends them.
    public static func head(_ status: Int, _ headers: HTTPHeaders = [:]) -> Data {
        Data("HTTP/1.1 \(status) Status\r\n\(lines(headers))\r\n".utf8)
    }

    private static func lines(_ headers: HTTPHeaders) -> String {
        headers.map { "\($0.name): \($0.value)\r\n" }.joined()
    }
}
