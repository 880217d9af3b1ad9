#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Writes a form as `multipart/form-data`, as the WHATWG HTML standard says ("multipart/form-data encoding algorithm").
///
/// What the standard does to the line breaks in values is left out: it is meant for the text fields of a page, and an
/// app's text should arrive as it was given.
struct MultipartEncoding {
    /// No content is searched for the boundary: 128 random bits are in none.
    private let boundary: String
    private let encoder: any RequestEncoder
    private let files: BodyFiles
    private let time: any TimeSource
    /// The bodies that make up the form; the last one can grow.
    private var bodies: [HTTPBody] = []
    private var bytes = Data()

    init(encoder: any RequestEncoder, files: BodyFiles, time: any TimeSource) {
        boundary = "errand-\(Self.hexadecimal(time.random()))\(Self.hexadecimal(time.random()))"
        self.encoder = encoder
        self.files = files
        self.time = time
    }

    var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// Returns the body of the form. Throws `.invalidRequest` if one of its files cannot be read.
    mutating func body(of form: MultipartForm) throws -> HTTPBody {
        var documents: [Data] = []
        var fields: [(name: String, value: Data)] = []
        for part in form.parts {
            write("--\(boundary)\r\n\(try head(of: part))\r\n\r\n")
            switch part.content {
            case .text(let text):
                fields.append((part.name, Data(text.utf8)))
                write(text)
            // Large data is not copied.
            case .data(let data):
                if data.count > HTTPBody.pieceSize { write(.bytes(data)) } else { bytes.append(data) }
                fields.append((part.name, data))
                // A document that was encoded before.
                if part.contentType?.lowercased().contains("json") == true { documents.append(data) }
            case .json(let value):
                let document = try encoder.encode(value)
                fields.append((part.name, document))
                documents.append(document)
                bytes.append(document)
            case .file(let place): write(try files[place].get().body(time: time))
            case .stream(let body): write(body)
            }
            write("\r\n")
        }
        write("--\(boundary)--\r\n")
        var body = bodies.isEmpty ? HTTPBody.bytes(bytes) : .joined(bodies + [.bytes(bytes)])
        body.source = .init(fields: fields, documents: documents)
        return body
    }

    private func head(of part: MultipartForm.Part) throws(ServiceError) -> String {
        var head = "Content-Disposition: form-data; name=\"\(part.escapedName)\""
        if let filename = part.escapedFilename { head += "; filename=\"\(filename)\"" }
        let type = if case .json = part.content { encoder.contentType as String? } else { part.contentType }
        guard let type else { return head }
        guard HTTPSyntax.isFieldValue(type), !type.isEmpty else {
            let reason = "the content type of the part \(HTTPSyntax.quoted(part.name)) is \(HTTPSyntax.quoted(type))"
            throw .invalidRequest(InvalidRequest(.body, reason))
        }
        return head + "\r\nContent-Type: \(type)"
    }

    private mutating func write(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    private mutating func write(_ body: HTTPBody) {
        bodies += [.bytes(bytes), body]
        bytes = Data()
    }

    private static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension MultipartForm.Part {
    /// The name as it is sent.
    package var escapedName: String { Self.escaped(Self.withWholeBreaks(name)) }
    /// The name of the file as it is sent.
    package var escapedFilename: String? { filename.map(Self.escaped) }

    /// A line break or a quotation mark would end the name.
    private static func escaped(_ name: String) -> String {
        String(
            decoding: name.utf8.flatMap { byte -> [UInt8] in
                switch byte {
                case 0x0A: Array("%0A".utf8)
                case 0x0D: Array("%0D".utf8)
                case 0x22: Array("%22".utf8)
                default: [byte]
                }
            }, as: UTF8.self)
    }

    /// Returns the name with CRLF for each line break, whether it was CR, LF or CRLF.
    private static func withWholeBreaks(_ name: String) -> String {
        var scalars = String.UnicodeScalarView()
        var last: Unicode.Scalar?
        for scalar in name.unicodeScalars {
            defer { last = scalar }
            switch scalar {
            case "\r": scalars += "\r\n".unicodeScalars
            case "\n": if last != "\r" { scalars += "\r\n".unicodeScalars }
            default: scalars.append(scalar)
            }
        }
        return String(scalars)
    }
}
