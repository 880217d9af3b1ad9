#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A digest that is sent with the body of a request (RFC 9530), so that the server can tell whether all of it arrived
/// unchanged.
///
///     try await client.run(.put("backup", body: .file("backup.tar")).digest(.content))
///
/// It is a SHA-256 of the body as it is sent: of the JSON that a value was encoded to, of the bytes of a file, or of a
/// whole form.
public struct BodyDigest: Sendable, Hashable, CustomStringConvertible {
    /// The name of the header field.
    let header: String

    /// `Content-Digest`: the digest of the bytes in this request.
    public static let content = BodyDigest(header: "Content-Digest")
    /// `Repr-Digest`: the digest of the representation that the request contains. The body is all of it, so the value
    /// is that of ``content``; which of the two a server checks, its documentation says. If the endpoint has a
    /// `Content-Encoding`, because its bytes are compressed, both are digests of the compressed bytes.
    public static let representation = BodyDigest(header: "Repr-Digest")

    /// The name of the header field.
    public var description: String { header }
}

extension Endpoint {
    /// Returns the same call, which sends these digests of its body. They replace earlier ones of the call.
    ///
    /// A file is read twice: before anything is sent, to compute the digest, and while it is sent. If it changes in
    /// between, the call fails with `.transport` of the kind `.file`, and the server does not receive a complete body.
    /// A retry sends the same digests.
    ///
    /// A body with a stream cannot be read beforehand, so the call fails with `.invalidRequest`. A call without a body
    /// sends no digest. A header of the endpoint with the same name stays as it is.
    public func digest(_ digests: BodyDigest...) -> Self {
        with { $0.options.digests = Set(digests) }
    }
}

extension UntypedEndpoint {
    /// Throws `.invalidRequest` if the digests that the call should send cannot be those of that request's body.
    func checkDigests(of request: HTTPRequest) throws(ServiceError) {
        guard let options = ownOptions, !options.digests.isEmpty, request.body != nil else { return }
        let reason: String
        if body?.hasStream == true {
            reason = "a stream has no digest before it is sent; send a file or data, or leave out `digest(_:)`"
        } else if options.digests.contains(.representation), request.headers["Content-Range"] != nil {
            reason = "a part of a representation does not have its digest; send `digest(.content)`"
        } else {
            return
        }
        throw .invalidRequest(InvalidRequest(.configuration, reason))
    }
}

extension HTTPRequest {
    /// Adds those digests, unless the request has a header with such a name already.
    mutating func add(_ digests: Set<BodyDigest>, sha256: [UInt8]) {
        let value = "sha-256=:\(Data(sha256).base64EncodedString()):"
        for name in digests.map(\.header).sorted() where headers[name] == nil { headers.add(name: name, value: value) }
    }
}

extension RequestBody {
    /// Whether a part of the body is a stream, which is read while it is sent.
    fileprivate var hasStream: Bool {
        switch content {
        case .stream: true
        case .multipart(let form):
            form.parts.contains { part in
                if case .stream = part.content { true } else { false }
            }
        case .json, .parameters, .form, .formOf, .derived, .data, .file: false
        }
    }
}
