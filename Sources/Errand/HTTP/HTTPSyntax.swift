/// The characters that RFC 9110 allows in a method, a header name and a header value. A line break in any of them could
/// smuggle in a second request.
enum HTTPSyntax {
    /// Returns whether the text is a token: only letters, digits and ``!#$%&'*+-.^_`|~``.
    static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.all(isTokenByte)
    }

    /// Returns whether the text has only visible characters, spaces, tabs and bytes above ASCII, and no space or tab at
    /// either end.
    static func isFieldValue(_ text: String) -> Bool {
        text.utf8.withContiguousStorageIfAvailable { isFieldValue($0) } ?? isFieldValue(text.utf8)
    }

    private static func isFieldValue(_ bytes: some BidirectionalCollection<UInt8>) -> Bool {
        guard bytes.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }) else { return false }
        guard let first = bytes.first, let last = bytes.last else { return true }
        return first > 0x20 && last > 0x20
    }

    /// Checks the method and the headers of the request.
    static func check(_ request: HTTPRequest) throws(HTTPFault) {
        guard isToken(request.method.rawValue) else {
            throw HTTPFault(.method, "the method \(quoted(request.method.rawValue)) is not a token")
        }
        for field in request.headers.fields {
            try check(field)
            try checkFraming(field, of: request.body)
        }
    }

    /// Refuses framing headers that contradict the body: the transport frames the body. If a body were longer than its
    /// header says, the server would read the rest as the next request on the connection.
    private static func checkFraming(_ field: HTTPHeaders.Field, of body: HTTPBody?) throws(HTTPFault) {
        // The length is compared first, because every header of every request is checked here.
        switch field.name.utf8.count {
        case 14 where field.name.equalsIgnoringCase("Content-Length"):
            if let length = body.map(\.length) ?? 0, field.value == "\(length)" { return }
        case 17 where field.name.equalsIgnoringCase("Transfer-Encoding"): break
        default: return
        }
        let reason = "the header \(field.name) contradicts the body; remove it, because the transport sets it"
        throw HTTPFault(.header, reason)
    }

    private static func check(_ field: HTTPHeaders.Field) throws(HTTPFault) {
        guard isToken(field.name) else {
            throw HTTPFault(.header, "the header name \(quoted(field.name)) is not a token")
        }
        guard isFieldValue(field.value) else {
            // The value may be a secret, so the message does not show it.
            let reason = "the value of the header \(field.name) has a control character, or a space at an end"
            throw HTTPFault(.header, reason)
        }
        guard !field.isRepeated else {
            throw HTTPFault(
                .header, "the header \(field.name) is twice in a literal; remove one, or use `add(_:_:)` to send both")
        }
    }

    static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
            UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// Returns the text in quotation marks, with control characters escaped so that it stays on one line of a log.
    static func quoted(_ text: String) -> String {
        let scalars = text.unicodeScalars.map {
            $0.value < 0x20 || $0.value == 0x7F ? $0.escaped(asASCII: true) : String($0)
        }
        return "\"\(scalars.joined())\"".printable
    }
}
