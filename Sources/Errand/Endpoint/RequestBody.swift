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
        case derived(DerivedBody)
        case data(Data, contentType: String)
        case file(FilePlace, contentType: String?)
        case stream(HTTPBody, contentType: String)
        case multipart(MultipartForm)
    }

    let content: Content

    /// Whether nothing has to be opened to read it.
    var isInMemory: Bool {
        switch content {
        case .json, .parameters, .form, .formOf, .derived, .data: true
        case .file, .stream, .multipart: false
        }
    }

    // Of the functions that a literal fits, the one for `JSONObject` is preferred, even where the literal could be a
    // dictionary or a `JSONValue`: otherwise the types of other members would decide whether a `nil` is left out.

    /// Creates a body from a value, which the client's encoder encodes.
    @_disfavoredOverload
    public static func json(_ value: some Encodable & Sendable) -> RequestBody {
        RequestBody(content: .json(value))
    }

    /// Creates an object from named values of any types that can be encoded. A `nil` value is left out; one in an inner
    /// literal is `null`.
    ///
    ///     let body = RequestBody.json(["name": name, "age": 3])
    @_disfavoredOverload
    public static func json(_ parameters: Parameters) -> RequestBody {
        RequestBody(content: .json(parameters))
    }

    /// Creates an object from a literal with variables of different types, at any depth.
    ///
    ///     let body = RequestBody.json(["user": ["name": name, "age": age]])
    ///
    /// A `nil` value is left out, at any depth. To send `null`, write `JSONValue.null`. In a list and in a variable
    /// that is a dictionary, `nil` is `null`.
    ///
    /// Types of your own have to be ``JSONMember``s. A literal with one that is not becomes ``Parameters``, which
    /// encode an inner literal as a dictionary, with `null`.
    public static func json(_ object: JSONObject) -> RequestBody {
        RequestBody(content: .json(object))
    }

    /// Creates a body from a literal of constants of different types, at any depth: objects, and lists of anything.
    @_disfavoredOverload
    public static func json(_ value: JSONValue) -> RequestBody {
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

    /// Creates a body from the file at a path, which is read while it is sent. Without a content type, the extension of
    /// the file's name determines it.
    ///
    ///     try await client.run(.put("backup", body: .file("backup.tar")))
    ///
    /// If the file cannot be read, the call fails with `.invalidRequest` before anything is sent. The file has to stay
    /// as it is until it has been sent; if it changes before, the call fails with `.transport` of the kind `.file`, and
    /// the server does not receive a complete body.
    public static func file(_ path: String, contentType: String? = nil) -> RequestBody {
        RequestBody(content: .file(.path(path), contentType: contentType))
    }

    /// Creates a body from the file at a URL, like ``file(_:contentType:)-(String,_)``.
    public static func file(_ url: URL, contentType: String? = nil) -> RequestBody {
        RequestBody(content: .file(.url(url), contentType: contentType))
    }

    /// Creates a body from a sequence of chunks that can be read once, such as the body of a streamed response. A call
    /// with such a body is never sent a second time. If you name a length, and the sequence has another or throws, the
    /// call fails, and the server never has a whole body.
    public static func stream<Sequence: AsyncSequence & Sendable>(
        length: Int? = nil, contentType: String, _ chunks: Sequence
    ) -> RequestBody where Sequence.Element == Data {
        RequestBody(content: .stream(.stream(length: length, chunks), contentType: contentType))
    }

    /// Creates a body from a sequence of chunks that can be streamed any number of times: each send calls `open`.
    public static func stream<Sequence: AsyncSequence & Sendable>(
        length: Int? = nil, contentType: String, opening open: @escaping @Sendable () -> Sequence
    ) -> RequestBody where Sequence.Element == Data {
        RequestBody(content: .stream(.stream(length: length, opening: open), contentType: contentType))
    }

    /// Creates a form of text, data and files (`multipart/form-data`).
    ///
    ///     let body = RequestBody.multipart {
    ///         $0.add("title", "Sunset")
    ///         $0.add("photo", file: "sunset.jpg")
    ///     }
    ///
    /// Its `Content-Type` header has the boundary between the parts, so no other header replaces it.
    public static func multipart(_ fill: (inout MultipartForm) -> Void) -> RequestBody {
        var form = MultipartForm()
        fill(&form)
        return .multipart(form)
    }

    /// Creates a body from a form of text, data and files (`multipart/form-data`).
    public static func multipart(_ form: MultipartForm) -> RequestBody {
        RequestBody(content: .multipart(form))
    }
}

/// A body as it is sent, and its type.
struct EncodedBody {
    let body: HTTPBody
    let contentType: String
    /// Whose header replaces the type.
    var override = Override.client

    enum Override {
        /// That of the client, or of the endpoint.
        case client
        /// That of the endpoint: the client's is for bodies of its usual type.
        case endpoint
        /// None: the body can be read only with its type.
        case none
    }
}

extension RequestBody {
    /// The files that are the body, or parts of it.
    var files: [FilePlace] {
        switch content {
        case .file(let place, _): [place]
        case .multipart(let form):
            form.parts.compactMap { part -> FilePlace? in
                guard case .file(let place) = part.content else { return nil }
                return place
            }
        default: []
        }
    }

    /// Returns the encoded body. Throws `.invalidRequest` if a value cannot be encoded, with the failing path, or if a
    /// file cannot be read.
    func encoded(
        by encoder: any RequestEncoder, adding common: Parameters, files: BodyFiles, time: any TimeSource
    ) throws(ServiceError) -> EncodedBody {
        func bytes(_ data: Data, _ contentType: String) -> EncodedBody {
            EncodedBody(body: .bytes(data), contentType: contentType)
        }
        do {
            switch content {
            case .json(let value): return bytes(try encoder.encode(value), encoder.contentType)
            case .parameters(let own): return bytes(try encoder.encode(own.merged(over: common)), encoder.contentType)
            case .form(let query): return bytes(Data(query.encoded.utf8), Self.formType)
            case .formOf(let value):
                let query = try QueryItems(form: value, encodedBy: encoder as? JSONEncoder ?? JSONEncoder())
                return bytes(Data(query.encoded.utf8), Self.formType)
            case .derived(let derived):
                return EncodedBody(
                    body: .bytes(try derived.encode(encoder)), contentType: derived.contentType, override: .endpoint)
            case .data(let data, let contentType): return bytes(data, contentType)
            case .file(let place, let contentType):
                return EncodedBody(
                    body: try files[place].get().body(time: time),
                    contentType: contentType ?? FileTypes.contentType(of: place.name))
            case .stream(let body, let contentType): return EncodedBody(body: body, contentType: contentType)
            case .multipart(let form):
                var encoding = MultipartEncoding(encoder: encoder, files: files, time: time)
                let body = try encoding.body(of: form)
                return EncodedBody(body: body, contentType: encoding.contentType, override: .none)
            }
        } catch {
            throw ServiceError(error) {
                .invalidRequest(InvalidRequest(.body, "the body cannot be encoded: \(Self.explain($0))"))
            }
        }
    }

    private static let formType = "application/x-www-form-urlencoded"

    /// Says why a value cannot be encoded.
    static func explain(_ error: any Error) -> String {
        // The message does not quote the value, which may be secret.
        guard case EncodingError.invalidValue(_, let context) = error else {
            return String(reflecting: type(of: error))
        }
        let path = context.codingPath.joined
        return path.isEmpty ? context.debugDescription : "at \(path): \(context.debugDescription)"
    }
}

extension RequestBody: OpaqueReflectable {
    /// The kind of the body, without its content.
    public var description: String {
        switch content {
        case .json(let value): "JSON of \(type(of: value))"
        case .parameters: "JSON of parameters"
        case .form, .formOf: "a form"
        case .derived(let derived): derived.name
        case .data(let data, let contentType): "\(data.count) bytes of \(contentType)"
        case .file(let place, _): "the file \(place)"
        case .stream(let body, let contentType): "\(body) of \(contentType)"
        case .multipart(let form): form.description
        }
    }
}
