/// The body of an explained request, as options of curl.
///
/// Files are named by their paths, so that the printed command sends them. Bytes in memory and streams are described by
/// their size; the text in a form is shown like the values of a query, without the secrets among it.
struct ExplainedBody {
    /// Longer text is described by its size.
    private static let longestText = 200

    let content: RequestBody.Content?
    let body: HTTPBody
    let redactor: Redactor
    /// Returns a text as one word of a shell.
    let quoted: (String) -> String

    /// Whether curl writes the `Content-Type` header itself, with the boundary of its own form.
    var hasOwnContentType: Bool {
        if case .multipart = content { true } else { false }
    }

    /// The options, one for each line of the command.
    var options: [String] {
        switch content {
        case .file(let place, _): ["--data-binary \(quoted("@\(place)"))"]
        case .multipart(let form): form.parts.map(option)
        default: ["--data-binary '‹\(body)›'"]
        }
    }

    private func option(for part: MultipartForm.Part) -> String {
        var value: String
        switch part.content {
        case .text(let text): return "--form-string \(quoted("\(part.name)=\(shown(text, named: part.name))"))"
        case .data(let data): value = "‹\(data.count) bytes›"
        case .json(let value):
            return "-F \(quoted("\(part.name)=‹JSON of \(type(of: value))›;type=application/json"))"
        case .stream(let body): value = "‹\(body)›"
        case .file(let place): value = "@\(inQuotes(place.description))"
        }
        if let filename = part.filename { value += ";filename=\(inQuotes(filename))" }
        if let type = part.contentType { value += ";type=\(type)" }
        return "-F \(quoted("\(part.name)=\(value)"))"
    }

    private func shown(_ text: String, named name: String) -> String {
        if redactor.isSecret(parameter: name) { return Redactor.mask }
        return text.utf8.count <= Self.longestText ? redactor.text(text) : "‹\(text.utf8.count) bytes›"
    }

    /// In quotation marks, curl reads a path or a name to its end, whatever it contains.
    private func inQuotes(_ text: String) -> String {
        "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }
}
