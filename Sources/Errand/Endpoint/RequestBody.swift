#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The body of an endpoint, before the client encodes it.
public struct RequestBody: Sendable {
    enum Content: Sendable {
        case json(any Encodable & Sendable)
        case parameters(Parameters)
        case form(QueryItems)
        case formOf(any Encodable & Sendable)
        case data(Data, contentType: String)
    }

    let content: Content

    /// Creates a body from a value, which the client's encoder encodes.
    public static func json(_ value: some Encodable & Sendable) -> RequestBody {
        RequestBody(content: .json(value))
    }

    /// Creates an object from named values of different types. A `nil` value is left out.
    ///
    ///     let body = RequestBody.json(["name": name, "age": 3])
    public static func json(_ parameters: Parameters) -> RequestBody {
        RequestBody(content: .json(parameters))
    }

    /// Creates a body from a literal with values of different types, at any depth.
    ///
    /// A literal that is not nested may contain variables; for a nested one write `["name": name, "age": 3] as
    /// Parameters`.
    @_disfavoredOverload
    public static func json(_ value: JSONValue, _: Void = ()) -> RequestBody {
        RequestBody(content: .json(value))
    }

    /// Creates the body of an HTML form (`application/x-www-form-urlencoded`).
    public static func form(_ query: QueryItems) -> RequestBody {
        RequestBody(content: .form(query))
    }

    /// Creates the body of an HTML form from the members of a value.
    ///
    /// An inner object becomes `metadata[key]`, a list `tags[]`, a list of objects `items[0][name]`. If the client's
    /// encoder is a `JSONEncoder`, it determines the format of names and dates. A `nil` value is left out.
    @_disfavoredOverload
    public static func form(_ value: some Encodable & Sendable) -> RequestBody {
        RequestBody(content: .formOf(value))
    }

    /// Creates a body from bytes of any type.
    public static func data(_ data: Data, contentType: String) -> RequestBody {
        RequestBody(content: .data(data, contentType: contentType))
    }

    /// Returns the encoded bytes and their type. Throws `.invalidRequest` with the failing path if a value cannot be
    /// encoded.
    func encoded(by encoder: any RequestEncoder, adding common: Parameters) throws(ServiceError) -> (Data, String) {
        do {
            switch content {
            case .json(let value): return (try encoder.encode(value), encoder.contentType)
            case .parameters(let own): return (try encoder.encode(own.merged(over: common)), encoder.contentType)
            case .form(let query): return (Data(query.encoded.utf8), Self.formType)
            case .formOf(let value):
                let query = try QueryItems(form: value, encodedBy: encoder as? JSONEncoder ?? JSONEncoder())
                return (Data(query.encoded.utf8), Self.formType)
            case .data(let data, let contentType): return (data, contentType)
            }
        } catch {
            throw ServiceError(error) {
                .invalidRequest(InvalidRequest(.body, "the body cannot be encoded: \(Self.explain($0))"))
            }
        }
    }

    private static let formType = "application/x-www-form-urlencoded"

    private static func explain(_ error: any Error) -> String {
        // The message does not quote the value, which may be secret.
        guard case EncodingError.invalidValue(_, let context) = error else {
            return String(reflecting: type(of: error))
        }
        let path = context.codingPath.joined
        return path.isEmpty ? context.debugDescription : "at \(path): \(context.debugDescription)"
    }
}

extension RequestBody: CustomStringConvertible, CustomReflectable {
    /// The kind of the body, without its content.
    public var description: String {
        switch content {
        case .json(let value): "JSON of \(type(of: value))"
        case .parameters: "JSON of parameters"
        case .form, .formOf: "a form"
        case .data(let data, let contentType): "\(data.count) bytes of \(contentType)"
        }
    }
    /// A mirror that shows only the description.
    public var customMirror: Mirror { Mirror(self, children: ["kind": description]) }
}
