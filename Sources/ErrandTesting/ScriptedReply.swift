public import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a `ScriptedTransport` does with one request.
public struct ScriptedReply: Sendable {
    enum Outcome: Sendable {
        case response(HTTPResponse)
        case error(any Error)
        case silence
        case handler(@Sendable (HTTPRequest) async throws -> HTTPResponse)

        /// What it comes to, if that needs no time.
        var atOnce: Result<HTTPResponse, any Error>? {
            switch self {
            case .response(let response): .success(response)
            case .error(let error): .failure(error)
            case .silence, .handler: nil
            }
        }

        /// What it comes to.
        func inTime(for request: HTTPRequest, by time: any TimeSource) async throws -> HTTPResponse {
            if let atOnce { return try atOnce.get() }
            if case .handler(let handler) = self { return try await handler(request) }
            try await time.sleep(until: .distantFuture)
            throw ServiceError.cancelled
        }
    }

    var outcome: Outcome
    var delay = Duration.zero
    /// How many requests it is for; `nil` for any number, none included.
    var count: Int? = 1

    /// An answer of that JSON, as it is written here.
    public static func json(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> ScriptedReply {
        var response = HTTPResponse(
            status: status, headers: ["Content-Type": "application/json"], body: .bytes(Data(text.utf8)))
        response.headers.merge(headers)
        return ScriptedReply(outcome: .response(response))
    }

    /// An answer of that value, encoded as JSON.
    public static func encoding(_ value: some Encodable, status: Int = 200) -> ScriptedReply {
        do {
            return json(String(decoding: try JSONEncoder().encode(value), as: UTF8.self), status: status)
        } catch {
            return .error(error)
        }
    }

    /// An answer of that status, with a body of text if one is given.
    public static func status(_ status: Int, headers: HTTPHeaders = [:], body: String = "") -> ScriptedReply {
        .response(HTTPResponse(status: status, headers: headers, body: .bytes(Data(body.utf8))))
    }

    /// That answer; its body may be a stream.
    public static func response(_ response: HTTPResponse) -> ScriptedReply {
        ScriptedReply(outcome: .response(response))
    }

    /// A failure of the network of that kind.
    public static func failure(_ kind: TransportFailure.Kind, mayHaveReachedServer: Bool? = nil) -> ScriptedReply {
        .error(ServiceError.transport(TransportFailure(kind, "scripted", mayHaveReachedServer: mayHaveReachedServer)))
    }

    /// That error, thrown as it is.
    public static func error(_ error: any Error) -> ScriptedReply {
        ScriptedReply(outcome: .error(error))
    }

    /// No answer at all, until the attempt is stopped.
    public static let silence = ScriptedReply(outcome: .silence)

    /// The same after so much virtual time.
    public func after(_ delay: Duration) -> ScriptedReply {
        with { $0.delay = delay }
    }

    /// The same for so many requests, one after the other.
    public func times(_ count: Int) -> ScriptedReply {
        with { $0.count = count }
    }

    /// The same for all further requests, however many come.
    public var always: ScriptedReply {
        with { $0.count = nil }
    }

    private func with(_ change: (inout ScriptedReply) -> Void) -> ScriptedReply {
        var copy = self
        change(&copy)
        return copy
    }
}

/// Lets replies be written one below the other.
@resultBuilder
public enum ScriptBuilder {
    /// One reply.
    public static func buildExpression(_ reply: ScriptedReply) -> [ScriptedReply] { [reply] }
    /// Replies made elsewhere.
    public static func buildExpression(_ replies: [ScriptedReply]) -> [ScriptedReply] { replies }
    /// Replies in their order.
    public static func buildBlock(_ parts: [ScriptedReply]...) -> [ScriptedReply] { parts.flatMap { $0 } }
    /// Replies under a condition.
    public static func buildOptional(_ part: [ScriptedReply]?) -> [ScriptedReply] { part ?? [] }
    /// Replies of one branch.
    public static func buildEither(first part: [ScriptedReply]) -> [ScriptedReply] { part }
    /// Replies of the other branch.
    public static func buildEither(second part: [ScriptedReply]) -> [ScriptedReply] { part }
    /// Replies of a loop.
    public static func buildArray(_ parts: [[ScriptedReply]]) -> [ScriptedReply] { parts.flatMap { $0 } }
}
