#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A form of text, data and files, which is sent as `multipart/form-data`.
///
///     let photo = RequestBody.multipart {
///         $0.add("title", "Sunset")
///         $0.add("photo", file: "sunset.jpg")
///     }
///
/// The parts are sent in the order in which they were added, and names may repeat. Names of parts and of files may
/// contain any characters: they are sent as the WHATWG HTML standard says, in UTF-8, with quotation marks and line
/// breaks percent-encoded. Values are sent as they are.
///
/// Files are read while they are sent, in pieces, so a form takes little memory however large its files are. They have
/// to stay as they are until they have been sent: if one of them changes before, the call fails, and the server does
/// not receive a complete form.
public struct MultipartForm: Sendable {
    package struct Part: Sendable {
        package enum Content: Sendable {
            case text(String)
            case data(Data)
            case json(any Encodable & Sendable)
            case file(FilePlace)
            case stream(HTTPBody)
        }

        package let name: String
        package var filename: String?
        /// `nil` for text.
        package var contentType: String?
        package let content: Content
    }

    /// The parts, in order.
    package private(set) var parts: [Part] = []

    /// Creates a form without parts.
    public init() {}

    /// Adds text: a string, a number, a date or any other value that a query can hold. An array adds a part for each of
    /// its elements; `nil` adds none.
    public mutating func add(_ name: String, _ value: (any QueryValue)?) {
        for text in value?.texts ?? [] { parts.append(Part(name: name, content: .text(text))) }
    }

    /// Adds a value, which the client's encoder encodes.
    public mutating func add(_ name: String, json value: some Encodable & Sendable) {
        parts.append(Part(name: name, content: .json(value)))
    }

    /// Adds data. Without a content type, the extension of the file name determines it.
    public mutating func add(_ name: String, data: Data, filename: String? = nil, contentType: String? = nil) {
        add(name, .data(data), filename: filename, contentType: contentType)
    }

    /// Adds the file at a path. Without a file name it is sent with its own; without a content type, the extension of
    /// that name determines it.
    public mutating func add(
        _ name: String, file path: String, filename: String? = nil, contentType: String? = nil
    ) {
        add(name, file: .path(path), filename: filename, contentType: contentType)
    }

    /// Adds the file at a URL. Without a file name it is sent with its own; without a content type, the extension of
    /// that name determines it.
    public mutating func add(_ name: String, file url: URL, filename: String? = nil, contentType: String? = nil) {
        add(name, file: .url(url), filename: filename, contentType: contentType)
    }

    /// Adds a stream. The length of the form is known beforehand only if that of the stream is; a form with a stream
    /// that can be read only once is never sent a second time.
    ///
    ///     $0.add("log", stream: .stream(length: size, log.chunks), filename: "today.log")
    public mutating func add(
        _ name: String, stream body: HTTPBody, filename: String? = nil, contentType: String? = nil
    ) {
        add(name, .stream(body), filename: filename, contentType: contentType)
    }

    private mutating func add(_ name: String, file: FilePlace, filename: String?, contentType: String?) {
        add(name, .file(file), filename: filename ?? file.name, contentType: contentType)
    }

    private mutating func add(_ name: String, _ content: Part.Content, filename: String?, contentType: String?) {
        let type = contentType ?? FileTypes.contentType(of: filename ?? "")
        parts.append(Part(name: name, filename: filename, contentType: type, content: content))
    }
}

extension MultipartForm: OpaqueReflectable {
    /// The number of parts, without their content.
    public var description: String { parts.count == 1 ? "a form of 1 part" : "a form of \(parts.count) parts" }
}
