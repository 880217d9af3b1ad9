#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The body of an endpoint, before the client's encoder has seen it.
public struct RequestBody: Sendable {
    enum Content: Sendable {
        case json(any Encodable & Sendable)
        case parameters(Parameters)
        case form(QueryItems)
        case formOf(any Encodable & Sendable)
        case data(Data, contentType: String)
    }

    let content: Content

    /// A value that the client's encoder turns into JSON.
    public static func json(_ value: some Encodable & Sendable) -> RequestBody {
        RequestBody(content: .json(value))
    }

    /// Named values of different types as the members of one object; what is `nil` is left out.
    ///
    ///     let body = RequestBody.json(["name": name, "age": 3])
    public static func json(_ parameters: Parameters) -> RequestBody {
        RequestBody(content: .json(parameters))
    }

    /// A literal of values of different types, nested ones too.
    ///
    /// Variables stand in one that is not nested; in a nested one say `["name": name, "age": 3] as Parameters`.
    @_disfavoredOverload
    public static func json(_ value: JSONValue, _: Void = ()) -> RequestBody {
        RequestBody(content: .json(value))
    }

    /// The parameters of an HTML form (`application/x-www-form-urlencoded`).
    public static func form(_ query: QueryItems) -> RequestBody {
        RequestBody(content: .form(query))
    }

    /// The members of a value as the parameters of an HTML form.
    ///
    /// An inner object becomes `metadata[key]`, a list `tags[]`, a list of objects `items[0][name]`. The client's
    /// encoder says how names and dates are written if it is a `JSONEncoder`. What is `nil` is left out.
    @_disfavoredOverload
    public static func form(_ value: some Encodable & Sendable) -> RequestBody {
        RequestBody(content: .formOf(value))
    }

    /// Bytes of whatever type.
    public static func data(_ data: Data, contentType: String) -> RequestBody {
        RequestBody(content: .data(data, contentType: contentType))
    }

    /// The bytes and their type. A value that cannot be encoded is `.invalidRequest`, with the place where it failed.
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
        // The value itself stays out of the sentence: it may be a secret.
        guard case EncodingError.invalidValue(_, let context) = error else {
            return String(reflecting: type(of: error))
        }
        let path = context.codingPath.joined
        return path.isEmpty ? context.debugDescription : "at \(path): \(context.debugDescription)"
    }
}

extension RequestBody: CustomStringConvertible, CustomReflectable {
    /// What kind of body it is; never what is in it.
    public var description: String {
        switch content {
        case .json(let value): "JSON of \(type(of: value))"
        case .parameters: "JSON of parameters"
        case .form, .formOf: "a form"
        case .data(let data, let contentType): "\(data.count) bytes of \(contentType)"
        }
    }
    /// Shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["kind": description]) }
}
