/// The reason why a document, or a text or number in it, is not valid JSON or cannot be represented.
///
/// It is the underlying error of a `DecodingError.dataCorrupted` that ``FastJSONDecoder`` throws for it, and never
/// quotes the document, which may contain secrets.
public struct JSONFault: Error, CustomStringConvertible {
    enum Reason: String {
        case unexpectedEnd = "unexpected end"
        case unexpectedCharacter = "unexpected character"
        case tooDeep = "more than 512 nested arrays and objects"
        case tooLarge = "a text of 256 MiB or a document of 4 GiB"
        case malformedText = "a text with an invalid character or escape sequence"
        case malformedNumber = "a malformed number"
        case unrepresentable = "a number that the type cannot represent"
        case unreadableEncoding = "bytes that are not text"
    }

    let reason: Reason
    private let position: (line: Int, column: Int)?

    init(_ reason: Reason) { (self.reason, position) = (reason, nil) }

    /// Creates a fault at a position.
    init(_ reason: Reason, at position: (line: Int, column: Int)) {
        self.reason = reason
        self.position = position
    }

    /// The line, counted from one; `nil` if unknown.
    public var line: Int? { position?.line }
    /// The column, counted in bytes from one; `nil` if unknown.
    public var column: Int? { position?.column }

    /// The reason, with the position if it is known.
    public var description: String {
        guard let position else { return reason.rawValue }
        return "\(reason.rawValue) at line \(position.line), column \(position.column)"
    }

    /// The error that a decoder throws for it.
    var decodingError: DecodingError {
        .dataCorrupted(
            DecodingError.Context(
                codingPath: [], debugDescription: "The given data was not valid JSON.", underlyingError: self))
    }
}

/// The reason why a value cannot be read as a type.
enum JSONMisfit: Error {
    case null
    case otherType
    case fault(JSONFault.Reason)
}
