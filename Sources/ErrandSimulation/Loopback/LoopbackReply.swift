public import Errand
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The steps with which a `LoopbackServer` responds to one request: a correct response, or anything that a broken
/// server might do.
///
/// Create a response and then, if it should go wrong, change it:
///
///     server.on(.get, "/half", .json(#"["Ann"]"#).cut(.withinBody, by: .reset))
///     server.on(.get, "/slow", .json(#"["Ann"]"#).after(.seconds(60)).always)
///
/// For anything else, use `raw(_:then:)` or the steps themselves.
public struct LoopbackReply: Sendable {
    /// One action on the connection.
    public struct Step: Sendable, Hashable, CustomStringConvertible {
        package enum Kind: Sendable, Hashable {
            case write(Data)
            case drip(Data, every: Duration)
            case pause(Duration)
            case repeatForever(Data)
            case readBody, silence, close, reset
        }

        package let kind: Kind

        /// Writes these bytes. Consecutive writes are sent together.
        public static func write(_ bytes: Data) -> Step { Step(kind: .write(bytes)) }
        /// Writes these bytes one by one, with a pause after each.
        public static func drip(_ bytes: Data, every pause: Duration) -> Step { Step(kind: .drip(bytes, every: pause)) }
        /// Waits.
        public static func pause(_ duration: Duration) -> Step { Step(kind: .pause(duration)) }
        /// Writes these bytes over and over, until the client ends the connection.
        public static func repeatForever(_ bytes: Data) -> Step { Step(kind: .repeatForever(bytes)) }
        /// Reads the body of the request. Only a reply of `onHead` begins before the body has been read.
        public static let readBody = Step(kind: .readBody)
        /// Waits until the client ends the connection, and discards what it sends.
        public static let silence = Step(kind: .silence)
        /// Closes the connection.
        public static let close = Step(kind: .close)
        /// Resets the connection.
        public static let reset = Step(kind: .reset)

        /// The step's name, and its values.
        public var description: String { "\(kind)" }
    }

    /// The steps, in order. Unless they close the connection, it serves the next request afterwards.
    public var steps: [Step]
    /// The number of requests that receive the reply; `nil` for any number.
    var count: Int? = 1
    /// Whether the first write is a head and the others a body, which a response to HEAD does not have.
    private(set) var hasHead = false

    /// Creates a reply from steps.
    public init(_ steps: [Step]) {
        self.steps = steps
    }

    private init(head: Data, _ body: [Step]) {
        steps = [.write(head)] + body
        hasHead = true
    }

    /// Returns the steps for a request with that method.
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
    /// The number of bytes that the step writes; `nil` if it writes none.
    var length: Int? {
        switch kind {
        case .write(let data), .drip(let data, _): data.count
        case .repeatForever: .max
        case .pause, .readBody, .silence, .close, .reset: nil
        }
    }
}

extension LoopbackReply {
    /// Creates a response with a status, header fields and a body. Its `Content-Length` is added if necessary.
    public static func status(_ status: Int, headers: HTTPHeaders = [:], body: Data = Data()) -> LoopbackReply {
        var fields = headers
        if fields["Content-Length"] == nil, fields["Transfer-Encoding"] == nil, status != 204, status != 304 {
            fields.add(name: "Content-Length", value: "\(body.count)")
        }
        return LoopbackReply(head: head(status, fields), [.write(body)])
    }

    /// Creates a response with a status, header fields and a text as its body.
    public static func status(_ status: Int, headers: HTTPHeaders = [:], body: String) -> LoopbackReply {
        .status(status, headers: headers, body: Data(body.utf8))
    }

    /// Creates a response with that value, encoded as JSON; a 500 that says so if it cannot be encoded.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - status: The status.
    ///   - headers: Further header fields, such as an `ETag`.
    ///   - encoder: The encoder, a plain one by default; that of the client if it renames keys.
    public static func encoding(
        _ value: some Encodable, status: Int = 200, headers: HTTPHeaders = [:], by encoder: JSONEncoder = JSONEncoder()
    ) -> LoopbackReply {
        do {
            let text = String(decoding: try encoder.encode(value), as: UTF8.self)
            return json(text, status: status, headers: headers)
        } catch {
            return .status(500, body: "the reply cannot be encoded: \(error)")
        }
    }

    /// Creates a response with that JSON text.
    public static func json(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> LoopbackReply {
        var fields = headers
        fields["Content-Type"] = fields["Content-Type"] ?? "application/json"
        return .status(status, headers: fields, body: Data(text.utf8))
    }

    /// Creates a redirect to that location, which is written as given.
    public static func redirect(_ status: Int = 302, to location: String) -> LoopbackReply {
        .status(status, headers: ["Location": location])
    }

    /// Creates a response with those chunks, and with a trailer if it has fields.
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

    /// Creates an event stream with those events, with a pause after each. With `retry`, it begins with the server's
    /// wish how long a client should wait before it connects again.
    public static func events(
        _ events: [ServerSentEvent], every pause: Duration = .zero, retry: Duration? = nil
    ) -> LoopbackReply {
        var reply = chunks(events.texts(retry: retry), headers: ["Content-Type": ServerSentEvent.contentType])
        let end = reply.steps.removeLast()
        reply.steps = reply.steps.flatMap { [$0, .pause(pause)] } + [end]
        return reply
    }

    /// Creates a response whose body never ends.
    public static func endless(_ status: Int = 200, headers: HTTPHeaders = [:]) -> LoopbackReply {
        LoopbackReply(head: head(status, headers), [.repeatForever(Data(repeating: 0x20, count: 65_536))])
    }

    /// Creates a reply with this text in UTF-8, followed by `last`; by default the connection is closed.
    public static func raw(_ text: String, then last: Step? = .close) -> LoopbackReply {
        raw(Data(text.utf8), then: last)
    }

    /// Creates a reply with these bytes, followed by `last`; by default the connection is closed.
    public static func raw(_ bytes: Data, then last: Step? = .close) -> LoopbackReply {
        LoopbackReply([.write(bytes)] + (last.map { [$0] } ?? []))
    }

    /// No response, until the client ends the connection.
    public static let silence = LoopbackReply([.silence])
    /// Closes the connection without a response.
    public static let close = LoopbackReply([.close])
    /// Resets the connection without a response.
    public static let reset = LoopbackReply([.reset])

    /// Returns the same reply for `count` requests.
    public func times(_ count: Int) -> LoopbackReply {
        with { $0.count = count }
    }

    /// The same reply for all further requests.
    public var always: LoopbackReply {
        with { $0.count = nil }
    }

    /// Returns the status line and the header fields of a response, with the empty line that ends them.
    public static func head(_ status: Int, _ headers: HTTPHeaders = [:]) -> Data {
        Data("HTTP/1.1 \(status) Status\r\n\(lines(headers))\r\n".utf8)
    }

    private static func lines(_ headers: HTTPHeaders) -> String {
        headers.map { "\($0.name): \($0.value)\r\n" }.joined()
    }
}
