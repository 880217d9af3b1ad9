#if os(Linux)
import Errand
import Foundation

/// A part of a form, as a reader has understood it.
struct ReadPart: Codable, Equatable {
    var name: String
    var filename: String?
    var type: String?
    /// The content, in base64.
    var content: String

    init(_ name: String, filename: String? = nil, type: String? = nil, _ content: Data) {
        self.name = name
        self.filename = filename
        self.type = type
        self.content = content.base64EncodedString()
    }

    init(_ name: String, filename: String? = nil, type: String? = nil, _ text: String) {
        self.init(name, filename: filename, type: type, Data(text.utf8))
    }
}

/// A reader of `multipart/form-data` that is not ours.
enum MultipartReader: String, CaseIterable {
    /// The parser of mail in Python's library, for which a form is a message with parts.
    case email
    /// The readers of Python's own CGI, and of the web framework Flask. Neither is installed everywhere.
    case cgi, werkzeug

    /// Whether Python and the module are installed.
    var isInstalled: Bool {
        (try? Program.python3.runAtOnce(["-W", "ignore", "-c", "import \(rawValue)"])) != nil
    }

    /// Reads a body with that `Content-Type` header.
    func parts(of body: Data, as contentType: String) async throws -> [ReadPart] {
        let said = try await Program.python3.run(
            ["-W", "ignore", "-c", Self.common + source, contentType, "\(body.count)"], input: body)
        return try JSONDecoder().decode([ReadPart].self, from: said)
    }

    private var source: String {
        switch self {
        case .email:
            """
            import email.parser, email.policy
            head = b"Content-Type: " + kind.encode() + b"\\r\\n\\r\\n"
            message = email.parser.BytesParser(policy=email.policy.HTTP.clone(utf8=True)).parsebytes(head + body)
            for part in message.get_payload():
                disposition = part["Content-Disposition"]
                parameters = disposition.params
                add(parameters["name"], parameters.get("filename"), part["Content-Type"], part.get_payload(decode=True))
            show()
            """
        case .cgi:
            """
            import cgi, io
            fields = cgi.FieldStorage(
                io.BytesIO(body), headers={"content-type": kind, "content-length": size},
                environ={"REQUEST_METHOD": "POST"}, keep_blank_values=True)
            for field in fields.list:
                content = field.file.read() if field.filename else field.value
                content = content if isinstance(content, bytes) else content.encode()
                add(field.name, field.filename, field.headers.get("content-type"), content)
            show()
            """
        case .werkzeug:
            """
            import io
            from werkzeug.formparser import FormDataParser
            from werkzeug.http import parse_options_header
            _, options = parse_options_header(kind)
            _, form, files = FormDataParser().parse(io.BytesIO(body), "multipart/form-data", int(size), options)
            for name, value in form.items(multi=True): add(name, None, None, value.encode())
            for name, file in files.items(multi=True):
                add(name, file.filename, file.headers.get("Content-Type"), file.read())
            show()
            """
        }
    }

    private static let common = """
        import base64, json, sys
        body, kind, size, parts = sys.stdin.buffer.read(), sys.argv[1], sys.argv[2], []
        def add(name, filename, type, content):
            parts.append({"name": name, "filename": filename, "type": type and str(type),
                          "content": base64.b64encode(content).decode()})
        def show():
            print(json.dumps(parts))

        """
}
#endif
