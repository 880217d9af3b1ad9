import ErrandJSON
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension CacheLayer {
    /// Returns the `Cookie` header that would be added to a request; `nil` for none.
    @inline(never)
    func expectedCookies(of request: HTTPRequest, _ context: CallContext) -> String? {
        cookies?.expectedHeader(
            for: request, of: context.transmission.cookieOwner, at: context.time.date,
            hasLeftOrigin: context.hasLeftOrigin)
    }

    /// Returns the place of the response to a request that would carry those cookies.
    @inline(never)
    func key(of request: HTTPRequest, _ context: CallContext, _ cookies: String?) -> CacheKey {
        // A hop that has left the origin is not signed, and the name of a call is that of its own URL.
        let session = context.hasLeftOrigin ? nil : context.transmission.session
        let name = context.isRedirected ? nil : context.rules.cache.key
        return key(of: request, name: name, session: session, cookies: cookies)
    }

    /// Returns the place of the response to the request of a call that has not begun.
    func key(of request: HTTPRequest, _ rules: CacheRules, session: UUID?) -> CacheKey {
        let cookies = cookies?.expectedHeader(for: request, of: session, at: time.date)
        return key(of: request, name: rules.key, session: session, cookies: cookies)
    }

    private func key(of request: HTTPRequest, name: String?, session: UUID?, cookies: String?) -> CacheKey {
        CacheKey(
            resource: CacheKey.Resource(request, name: name),
            partition: CacheKey.Partition(
                session: session, credentials: digest(of: request, isNamed: name != nil, cookies: cookies),
                outlivesProcess: client.outlivesProcess && (session == nil || (tokens?.outlivesProcess ?? true))))
    }

    /// Returns a digest of what says who asks: the client, the request, and the jar, which adds its cookies later;
    /// `nil` if nothing does.
    private func digest(of request: HTTPRequest, isNamed: Bool, cookies: String?) -> [UInt8]? {
        let (who, own) = (client.text(isNamed: isNamed), identity.identity(in: request.headers))
        guard own != nil || cookies != nil else { return client.digest(isNamed: isNamed) }
        let all = [who, own, cookies.map { "cookie jar: \($0)" }].compactMap(\.self)
        return cache.digest(of: all.joined(separator: "\n"))
    }
}

extension CacheKey.Resource {
    /// The resource that a request asks for: what its call has named, or else its URL. A QUERY asks by its body too, so
    /// it has a name that no call can have.
    init(_ request: HTTPRequest, name: String?) {
        if let name {
            self = .named(name, request.url.origin)
        } else if request.method == .query {
            let type = ["Content-Type", "Content-Encoding"].map { request.headers[$0] ?? "" }
            let content = Data(SHA256.hash(of: request.bodyToCompare)).base64EncodedString()
            let parts = ["\u{0}QUERY", request.url.absoluteString] + type + [content]
            self = .named(parts.joined(separator: "\n"), request.url.origin)
        } else {
            self = .url(request.url)
        }
    }
}

extension HTTPRequest {
    /// The body in a form in which equal requests have the same: the order of the members of JSON is another one in
    /// each process.
    fileprivate var bodyToCompare: Data {
        let bytes = body?.bytes ?? Data()
        guard headers["Content-Type"].map({ MediaType($0).isJSON }) ?? false,
            let value = try? FastJSONDecoder().decode(JSONValue.self, from: bytes)
        else { return bytes }
        var writer = StoredFieldWriter()
        writer.add(value)
        return Data(writer.bytes)
    }
}

extension StoredFieldWriter {
    /// Adds a JSON value, with its members in the order of their names.
    fileprivate mutating func add(_ value: JSONValue) {
        switch value {
        case .null: add(UInt8(0))
        case .bool(let value): add(UInt8(value ? 6 : 1))
        case .integer(let value):
            add(UInt8(2))
            add(UInt64(bitPattern: Int64(value)))
        case .number(let value):
            add(UInt8(7))
            add(value)
        case .string(let text):
            add(UInt8(3))
            add(text)
        case .array(let values):
            add(UInt8(4))
            add(UInt64(values.count))
            for value in values { add(value) }
        case .object(let members):
            add(UInt8(5))
            add(UInt64(members.count))
            for (name, value) in members.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
                add(name)
                add(value)
            }
        }
    }
}
