/// What RFC 9110 lets into a method, a header's name and a header's value. A line break in any of them would be a
/// second request.
enum HTTPSyntax {
    /// The characters of a token: ``!#$%&'*+-.^_`|~``, digits and letters.
    static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.all(isTokenByte)
    }

    /// Visible characters, spaces, tabs and bytes above ASCII; no control characters, and no space at either end.
    static func isFieldValue(_ text: String) -> Bool {
        guard text.utf8.all({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }) else { return false }
        guard let first = text.utf8.first, let last = text.utf8.last else { return true }
        return first > 0x20 && last > 0x20
    }

    /// Checks what the request's head is made of.
    static func check(_ request: HTTPRequest) throws(HTTPFault) {
        guard isToken(request.method.rawValue) else {
            throw HTTPFault(.method, "the method \(quoted(request.method.rawValue)) is not a token")
        }
        for field in request.headers.fields {
            try check(field)
            try checkFraming(field, of: request.body)
        }
    }

    /// How the body is framed is the transport's to say: of one that is longer than its header says, the rest would be
    /// the next request on the connection.
    private static func checkFraming(_ field: HTTPHeaders.Field, of body: HTTPBody?) throws(HTTPFault) {
        // By its length first: this is asked of every header of every request.
        switch field.name.utf8.count {
        case 14 where field.name.equalsIgnoringCase("Content-Length"):
            if let length = body.map(\.length) ?? 0, field.value == "\(length)" { return }
        case 17 where field.name.equalsIgnoringCase("Transfer-Encoding"): break
        default: return
        }
        let reason = "the header \(field.name) says otherwise than the body is sent; leave it to the transport"
        throw HTTPFault(.header, reason)
    }

    private static func check(_ field: HTTPHeaders.Field) throws(HTTPFault) {
        guard isToken(field.name) else {
            throw HTTPFault(.header, "the header name \(quoted(field.name)) is not a token")
        }
        guard isFieldValue(field.value) else {
            // The value is not shown: it may be a secret.
            let reason = "the value of the header \(field.name) has a control character, or a space at an end"
            throw HTTPFault(.header, reason)
        }
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
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

    /// The text in quotation marks, with what would break a line of a log written as an escape.
    static func quoted(_ text: String) -> String {
        let scalars = text.unicodeScalars.map {
            $0.value < 0x20 || $0.value == 0x7F ? $0.escaped(asASCII: true) : String($0)
        }
        return "\"\(scalars.joined())\"".printable
    }
}

extension String.UTF8View {
    /// `allSatisfy` over the bytes where they lie, which is several times as fast: every header of every request goes
    /// through here.
    func all(_ isFine: (UInt8) -> Bool) -> Bool {
        withContiguousStorageIfAvailable { $0.allSatisfy(isFine) } ?? allSatisfy(isFine)
    }
}
