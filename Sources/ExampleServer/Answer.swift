import Errand
import ErrandTesting
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a backend answers, before any fault has spoilt it.
struct Answer: Sendable {
    var status = 200
    /// The body; `nil` for none.
    var json: JSON?
    var headers: HTTPHeaders = [:]

    /// An answer of that JSON.
    static func json(_ json: JSON, status: Int = 200, headers: HTTPHeaders = [:]) -> Answer {
        Answer(status: status, json: json, headers: headers)
    }

    /// It is done, and there is nothing to say.
    static let done = Answer(status: 204)

    /// The answer as it is written.
    var reply: LoopbackReply {
        guard let json else { return .status(status, headers: headers) }
        var fields = headers
        fields["Content-Type"] = fields["Content-Type"] ?? "application/json"
        return .status(status, headers: fields, body: json.data)
    }
}

/// Why a backend does not do what it was asked to do. Each backend says it in its own shape.
struct Refusal: Error, Sendable {
    var status: Int
    var message: String
    /// The backend's own code for it.
    var code: String?
    /// The parameter that is wrong.
    var field: String?
    var headers: HTTPHeaders = [:]

    init(_ status: Int, _ message: String, code: String? = nil, field: String? = nil, headers: HTTPHeaders = [:]) {
        self.status = status
        self.message = message
        self.code = code
        self.field = field
        self.headers = headers
    }

    static let notFound = Refusal(404, "There is nothing here", code: "not_found")
}
