public import Errand
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

// Two lines of a script that both begin with a dot are one expression for the compiler:
//
//     network.on(.get, "/friends") {
//         .status(503)
//         .json("[]")
//     }
//
// Without these declarations it says that a static member cannot be used on an instance, which helps nobody. They are
// not there to make it two replies: then `.json("[]").status(404)` would be two as well, and look like one.
extension ScriptedReply {
    /// Not available: a reply has no reply.
    @available(*, unavailable, message: "separate replies with commas: on(_:_:, .status(503), .json(\"[]\"))")
    public func json(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> ScriptedReply { self }

    /// Not available: a reply has no reply.
    @available(*, unavailable, message: "separate replies with commas: on(_:_:, .status(503), .json(\"[]\"))")
    public func encoding(_ value: some Encodable, status: Int = 200) -> ScriptedReply { self }

    /// Not available: a reply has no reply.
    @available(
        *, unavailable,
        message: "separate replies with commas: on(_:_:, .status(503), .json(\"[]\")); .json(_:status:) has a status"
    )
    public func status(_ status: Int, headers: HTTPHeaders = [:], body: String = "") -> ScriptedReply { self }

    /// Not available: a reply has no reply.
    @available(*, unavailable, message: "separate replies with commas: on(_:_:, .status(503), .json(\"[]\"))")
    public func redirect(_ status: Int = 302, to location: String) -> ScriptedReply { self }

    /// Not available: a reply has no reply.
    @available(*, unavailable, message: "separate replies with commas: on(_:_:, .status(503), .json(\"[]\"))")
    public func response(_ response: HTTPResponse) -> ScriptedReply { self }

    /// Not available: a reply has no reply.
    @available(*, unavailable, message: "separate replies with commas: on(_:_:, .status(503), .json(\"[]\"))")
    public func failure(_ kind: TransportFailure.Kind, mayHaveReachedServer: Bool? = nil) -> ScriptedReply { self }

    /// Not available: a reply has no reply.
    @available(*, unavailable, message: "separate replies with commas: on(_:_:, .status(503), .json(\"[]\"))")
    public func error(_ error: any Error) -> ScriptedReply { self }

    /// Not available: a reply has no reply.
    @available(*, unavailable, message: "separate replies with commas: on(_:_:, .status(503), .json(\"[]\"))")
    public func chunks(
        _ chunks: [Data], every pause: Duration = .zero, status: Int = 200, headers: HTTPHeaders = [:]
    ) -> ScriptedReply { self }

    /// Not available: a reply has no reply.
    @available(*, unavailable, message: "separate replies with commas: on(_:_:, .status(503), .json(\"[]\"))")
    public func events(
        _ events: [ServerSentEvent], every pause: Duration = .zero, retry: Duration? = nil
    ) -> ScriptedReply { self }
}
