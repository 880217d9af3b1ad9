#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A response that is stored, with what is known about its use.
///
/// A class, because a hit hands it on: nothing of it is copied, least of all its body.
final class StoredResponse: Sendable {
    /// What a response needs besides its fields and its body: the objects, the tables of the store, and what the
    /// allocator rounds up. Measured with small responses.
    private static let overhead = 1200
    /// Fields that concern one connection or one exchange (RFC 9111, 3.1), and those that hand out credentials: a
    /// session cookie must not come again.
    private static let unstored: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "set-cookie", "authentication-info",
    ]

    /// The lengths of those names: most fields have another, and are kept without a closer look.
    private static let unstoredLengths = Set(unstored.map(\.utf8.count))

    /// The URL of the request.
    let url: HTTPURL
    let status: Int
    let headers: HTTPHeaders
    let body: Data
    let freshness: CacheFreshness
    let control: CacheControl
    let variant: CacheVariant
    let tags: Set<String>
    let groups: Set<String>

    init(
        url: HTTPURL, status: Int, headers: HTTPHeaders, body: Data, freshness: CacheFreshness, control: CacheControl,
        variant: CacheVariant, tags: Set<String> = []
    ) {
        self.url = url
        self.status = status
        self.headers = headers
        self.body = body
        self.freshness = freshness
        self.control = control
        self.variant = variant
        self.tags = tags
        groups = CacheGroups.names(in: headers.values("Cache-Groups"))
    }

    /// The number of bytes that it takes, about.
    var size: Int {
        let fields = headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 }
        let names = [tags, groups].reduce(0) { $1.reduce($0) { $0 + $1.utf8.count + 64 } }
        let place = url.path.utf8.count + (url.query?.utf8.count ?? 0)
        return body.count + fields + names + place + variant.size + Self.overhead
    }

    /// A response with more tags and groups together than this is not stored: each is looked at with each change.
    static let mostNames = 256

    var hasTooManyNames: Bool { tags.count + groups.count > Self.mostNames }

    /// The same response with further tags.
    func tagged(_ more: Set<String>) -> StoredResponse {
        if more.isSubset(of: tags) { return self }
        return StoredResponse(
            url: url, status: status, headers: headers, body: body, freshness: freshness, control: control,
            variant: variant, tags: tags.union(more))
    }

    /// The same response without its body, for whatever looks at the rest.
    var withoutBody: StoredResponse {
        StoredResponse(
            url: url, status: status, headers: headers, body: Data(), freshness: freshness, control: control,
            variant: variant, tags: tags)
    }

    /// Whether a removal of a path covers its URL.
    func isCovered(by removal: CacheRemoval) -> Bool {
        guard case .below(url.origin, let path) = removal else { return false }
        return CacheRemoval.paths(to: url).contains(path)
    }

    /// The validator for `If-None-Match`; `nil` if there is none, or if it is malformed.
    var etag: EntityTag? { headers.etag }

    /// The validator for `If-Modified-Since`.
    var lastModified: String? {
        let values = headers.values("Last-Modified")
        return values.count == 1 ? values.first : nil
    }

    var hasValidator: Bool { etag != nil || lastModified != nil }

    /// Returns the fields of a response that may be stored; `nil` if it lists too many that may not.
    static func storable(_ headers: HTTPHeaders) -> HTTPHeaders? {
        guard let elements = FieldParser.elements(of: headers.values("Connection")) else { return nil }
        let listed = Set(elements.lazy.compactMap(\.asName))
        return HTTPHeaders(
            headers.fields.filter { field in
                guard !listed.isEmpty || unstoredLengths.contains(field.name.utf8.count) else { return true }
                guard let name = field.name[...].asName else { return true }
                return !unstored.contains(name) && !listed.contains(name)
            })
    }

    /// Returns the response to a request that it answers.
    func response(
        withBody: Bool, age: Double?, as status: CacheStatus, isReplaceable: Bool = false
    ) -> HTTPResponse {
        var headers = headers
        if let age { headers["Age"] = String(Int64(wholeSeconds: age)) }
        var response = HTTPResponse(status: self.status, headers: headers, body: withBody ? .bytes(body) : .empty)
        var provenance = HTTPResponse.Provenance()
        (provenance.cache, provenance.isReplaceable) = (status, isReplaceable)
        response.provenance = provenance
        return response
    }
}

extension Int64 {
    /// The seconds of an age without their fraction; 0 for a negative one, and `max` for one that does not fit.
    init(wholeSeconds age: Double) {
        self = age < 0 ? 0 : age < 9e18 ? Int64(age) : .max
    }
}

/// The groups in which a server puts its responses, to invalidate them together (RFC 9875).
enum CacheGroups {
    /// Returns the names in a list of strings; none if the field is anything else.
    static func names(in values: [String]) -> Set<String> {
        guard !values.isEmpty, let members = StructuredField.list(values) else { return [] }
        var names: Set<String> = []
        for member in members {
            guard case .string(let name) = member.value else { return [] }
            names.insert(name)
        }
        return names
    }
}
