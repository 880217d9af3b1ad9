public import Errand
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The response of a `ScriptedTransport` to one request, or its failure.
public struct ScriptedReply: Sendable {
    enum Outcome: Sendable {
        case response(HTTPResponse)
        case error(any Error)
        case silence
        case handler(@Sendable (HTTPRequest) async throws -> ScriptedReply)
    }

    var outcome: Outcome
    /// The body of the response, if it takes time.
    var body: ScriptedBody?
    var delay = Duration.zero
    /// The number of requests that receive the reply; `nil` for any number, including none.
    var count: Int? = 1

    /// Creates a response with that JSON text.
    public static func json(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> ScriptedReply {
        var response = HTTPResponse(
            status: status, headers: ["Content-Type": "application/json"], body: .bytes(Data(text.utf8)))
        response.headers.merge(headers)
        return ScriptedReply(outcome: .response(response))
    }

    /// Creates a response with that value, encoded as JSON.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - status: The status.
    ///   - headers: Further header fields, such as an `ETag`.
    ///   - encoder: The encoder, a plain one by default; that of the client if it renames keys.
    public static func encoding(
        _ value: some Encodable, status: Int = 200, headers: HTTPHeaders = [:], by encoder: JSONEncoder = JSONEncoder()
    ) -> ScriptedReply {
        do {
            let text = String(decoding: try encoder.encode(value), as: UTF8.self)
            return json(text, status: status, headers: headers)
        } catch {
            return .error(error)
        }
    }

    /// Creates a response with that status and that text as its body.
    public static func status(_ status: Int, headers: HTTPHeaders = [:], body: String = "") -> ScriptedReply {
        .status(status, headers: headers, body: Data(body.utf8))
    }

    /// Creates a response with that status and those bytes as its body.
    public static func status(_ status: Int, headers: HTTPHeaders = [:], body: Data) -> ScriptedReply {
        .response(HTTPResponse(status: status, headers: headers, body: .bytes(body)))
    }

    /// Creates a redirect to that location, which is written as given.
    public static func redirect(_ status: Int = 302, to location: String) -> ScriptedReply {
        .status(status, headers: ["Location": location])
    }

    /// Creates a reply with that response, whose body may be a stream.
    public static func response(_ response: HTTPResponse) -> ScriptedReply {
        ScriptedReply(outcome: .response(response))
    }

    /// Creates a network failure of that kind.
    public static func failure(_ kind: TransportFailure.Kind, mayHaveReachedServer: Bool? = nil) -> ScriptedReply {
        .error(ServiceError.transport(TransportFailure(kind, "scripted", mayHaveReachedServer: mayHaveReachedServer)))
    }

    /// Creates a failure that throws that error as it is.
    public static func error(_ error: any Error) -> ScriptedReply {
        ScriptedReply(outcome: .error(error))
    }

    /// No response at all, until the send is stopped.
    public static let silence = ScriptedReply(outcome: .silence)

    /// Returns the same reply after a delay in the client's time, from the moment of the request.
    public func after(_ delay: Duration) -> ScriptedReply {
        with { $0.delay = delay }
    }

    /// Returns the same reply for `count` requests, one after the other.
    public func times(_ count: Int) -> ScriptedReply {
        with { $0.count = count }
    }

    /// The same reply for all further requests, however many there are.
    public var always: ScriptedReply {
        with { $0.count = nil }
    }

    /// Returns the response to a request that came at `arrival`, or throws the error.
    func response(to request: HTTPRequest, at arrival: Instant, by time: any TimeSource) async throws -> HTTPResponse {
        // From the moment of the request: a test may advance the clock as soon as it knows of the request.
        let start = arrival.advanced(by: delay)
        if delay > .zero { try await time.sleep(until: start, for: .sleeper("a scripted delay"), in: CallScope()) }
        switch outcome {
        case .response(var response):
            if let body { response.body = body.body(from: start, by: time) }
            return response
        case .error(let error): throw error
        case .silence:
            let purpose = Alarm.Purpose.sleeper("a scripted silence")
            try await time.sleep(until: .distantFuture, for: purpose, in: CallScope())
            throw ServiceError.cancelled
        case .handler(let handler):
            return try await handler(request).response(to: request, at: start, by: time)
        }
    }

    /// Returns the result for a request that came at `arrival`, if it needs no time.
    func atOnce(at arrival: Instant, by time: any TimeSource) -> Result<HTTPResponse, any Error>? {
        guard delay <= .zero else { return nil }
        switch outcome {
        case .response(var response):
            if let body { response.body = body.body(from: arrival, by: time) }
            return .success(response)
        case .error(let error): return .failure(error)
        case .silence, .handler: return nil
        }
    }

    func with(_ change: (inout ScriptedReply) -> Void) -> ScriptedReply {
        var copy = self
        change(&copy)
        return copy
    }
}

/// Builds a list of replies.
///
/// A line that begins with a dot continues the line before it, so several replies are separated by semicolons, or begin
/// with the name of their type:
///
///     network.on(.get, "/friends") {
///         ScriptedReply.failure(.refused)
///         if isSlow { ScriptedReply.status(503) }
///         ScriptedReply.json("[]")
///     }
///
/// A list without conditions is shorter with commas: `network.on(.get, "/friends", .status(503), .json("[]"))`.
@resultBuilder
public enum ScriptBuilder {
    /// One reply.
    public static func buildExpression(_ reply: ScriptedReply) -> [ScriptedReply] { [reply] }
    /// Replies from an array.
    public static func buildExpression(_ replies: [ScriptedReply]) -> [ScriptedReply] { replies }
    /// Replies in order.
    public static func buildBlock(_ parts: [ScriptedReply]...) -> [ScriptedReply] { parts.flatMap { $0 } }
    /// Replies of an `if`.
    public static func buildOptional(_ part: [ScriptedReply]?) -> [ScriptedReply] { part ?? [] }
    /// Replies of the first branch.
    public static func buildEither(first part: [ScriptedReply]) -> [ScriptedReply] { part }
    /// Replies of the second branch.
    public static func buildEither(second part: [ScriptedReply]) -> [ScriptedReply] { part }
    /// Replies of a loop.
    public static func buildArray(_ parts: [[ScriptedReply]]) -> [ScriptedReply] { parts.flatMap { $0 } }
}
