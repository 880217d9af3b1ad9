import Errand
import ErrandSimulation
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The response of a backend, before any fault is applied.
struct Answer: Sendable {
    var status = 200
    /// The body; `nil` if there is none.
    var json: JSON?
    var headers: HTTPHeaders = [:]
    /// A file or a part of it, or a page, in place of everything else.
    private var file: LoopbackReply?

    /// Creates an answer with a JSON body.
    static func json(_ json: JSON, status: Int = 200, headers: HTTPHeaders = [:]) -> Answer {
        Answer(status: status, json: json, headers: headers)
    }

    /// Creates an answer that a client may keep for that many seconds; it confirms what the client has, if that is the
    /// same. A change invalidates what is in the same group.
    static func kept(_ json: JSON, for request: ExampleRequest, seconds: Int, group: String? = nil) -> Answer {
        let digest = json.data.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        var headers: HTTPHeaders = ["Cache-Control": "private, max-age=\(seconds)", "ETag": "\"\(digest)\""]
        headers["Cache-Groups"] = group.map { "\"\($0)\"" }
        if request.headers["If-None-Match"] == headers["ETag"] { return Answer(status: 304, headers: headers) }
        return .json(json, headers: headers)
    }

    /// The same answer, after which no client may use what it has kept of that group.
    func invalidating(_ group: String) -> Answer {
        var answer = self
        answer.headers["Cache-Group-Invalidation"] = "\"\(group)\""
        return answer
    }

    /// Creates an answer with a file, or the part that is asked for.
    static func file(_ file: LoopbackFile, for request: ExampleRequest) -> Answer {
        var answer = Answer()
        answer.file = file.reply(to: request.original)
        return answer
    }

    /// Creates an answer that leads a browser elsewhere, which nobody may keep.
    static func redirect(to address: String) -> Answer {
        Answer(status: 302, headers: ["Location": address, "Cache-Control": "no-store"])
    }

    /// Creates an answer with a page of HTML.
    static func page(_ html: String, status: Int = 200) -> Answer {
        var answer = Answer(status: status)
        answer.file = .status(status, headers: ["Content-Type": "text/html; charset=utf-8"], body: Data(html.utf8))
        return answer
    }

    /// Success without a body.
    static let done = Answer(status: 204)

    /// The answer as the loopback server writes it.
    var reply: LoopbackReply {
        if let file { return file }
        guard let json else { return .status(status, headers: headers) }
        var fields = headers
        fields["Content-Type"] = fields["Content-Type"] ?? "application/json"
        return .status(status, headers: fields, body: json.data)
    }
}

/// The reason why a backend refuses a request. Each backend reports it in its own format.
struct Refusal: Error, Sendable {
    var status: Int
    var message: String
    /// The backend's own code for the reason.
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
