public import Errand
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A file that a `LoopbackServer` or a `ScriptedTransport` serves, whole or in part, as RFC 9110 says of ranges and
/// conditions.
///
///     let file = LoopbackFile(content, headers: ["ETag": "\"v1\""])
///     server.on(.get, "/app.zip") { file.reply(to: $0) }
///     network.on(.get, "/app.zip") { file.reply(to: $0) }
///
/// A reply can go wrong like any other: `file.reply(to: $0).cut(.inBody(1000), by: .reset)`.
public struct LoopbackFile: Sendable {
    /// The bytes of the file.
    public var content: Data
    /// Header fields of every response, such as `ETag`, `Last-Modified` and `Date`.
    public var headers: HTTPHeaders
    /// Whether the server sends parts of the file.
    public var acceptsRanges = true

    /// Creates a file. Without other headers it has the entity tag `"1"`.
    public init(_ content: Data, headers: HTTPHeaders = ["ETag": "\"1\""]) {
        self.content = content
        self.headers = headers
    }

    /// The value of `Repr-Digest` or `Content-Digest` with the SHA-256 of the file (RFC 9530).
    public var digest: String {
        "sha-256=:\(Data(SHA256.hash(of: content)).base64EncodedString()):"
    }

    /// Returns the response to a request: the whole file, the part that is asked for, or 416.
    public func reply(to request: LoopbackRequest) -> LoopbackReply {
        let (status, fields, body) = response(to: request.headers)
        return .status(status, headers: fields, body: body)
    }

    /// Returns the same response as a reply of a ``ScriptedTransport``.
    public func reply(to request: HTTPRequest) -> ScriptedReply {
        let (status, fields, body) = response(to: request.headers)
        return .status(status, headers: fields, body: body)
    }

    private func response(to request: HTTPHeaders) -> (status: Int, headers: HTTPHeaders, body: Data) {
        var fields = headers
        guard acceptsRanges else { return (200, fields, content) }
        fields["Accept-Ranges"] = "bytes"
        guard let text = request["Range"], isUnchanged(request), let (first, last) = Self.range(text) else {
            return (200, fields, content)
        }
        guard first < content.count, first <= last ?? .max else {
            fields["Content-Range"] = "bytes */\(content.count)"
            return (416, fields, Data())
        }
        let end = min(last ?? .max, content.count - 1) + 1
        fields["Content-Range"] = "bytes \(first)-\(end - 1)/\(content.count)"
        return (206, fields, content.dropFirst(first).prefix(end - first))
    }

    /// Whether the condition of the request holds, if it has one.
    private func isUnchanged(_ request: HTTPHeaders) -> Bool {
        guard let condition = request["If-Range"] else { return true }
        // Weak tags are never equal here (RFC 9110, 13.1.5).
        if condition.hasPrefix("\"") { return condition == headers["ETag"] }
        return condition == headers["Last-Modified"]
    }

    /// Reads `bytes=5-` and `bytes=5-9`; `nil` for anything else, which a server may ignore.
    private static func range(_ text: String) -> (first: Int, last: Int?)? {
        guard text.hasPrefix("bytes=") else { return nil }
        let ends = text.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int(ends[0]), first >= 0 else { return nil }
        guard !ends[1].isEmpty else { return (first, nil) }
        return Int(ends[1]).map { (first, $0) }
    }
}
