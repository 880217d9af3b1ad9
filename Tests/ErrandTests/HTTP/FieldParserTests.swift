import Testing

@testable import Errand

@Suite("The parts that header fields have in common (RFC 9110, 5.6)") struct FieldParserTests {
    @Test("a token ends before the first character that it cannot have")
    func tokens() {
        var parser = FieldParser("max-age=5")
        let name = parser.token()
        let (missing, hasSkipped, value) = (parser.token(), parser.skip(UInt8(ascii: "=")), parser.digits())
        #expect(name == "max-age" && missing == nil && hasSkipped && value == "5")
        #expect(parser.isAtEnd)
    }

    @Test(
        "a quoted text is read without its marks and backslashes",
        arguments: [
            (#""""#, "", ""), (#""a, b";c"#, "a, b", ";c"), (#""a\"b\\" c"#, #"a"b\"#, " c"), (#""\a\,""#, "a,", ""),
            // Without the second mark, the text goes on to the end.
            (#""a;b"#, "a;b", ""), (#"""#, "", ""), (#""a\"#, #"a\"#, ""), (#""\"a"#, #""a"#, ""),
            ("\"é\\é\"x", "éé", "x"),
        ])
    func quotedTexts(value: String, text: String, rest: String) {
        var parser = FieldParser(value)
        let found = parser.quotedText()
        #expect(found == text)
        #expect(String(Substring(parser.rest)) == rest)
    }

    @Test(
        "a quoted text that has to be closed is none without its second mark, and stays unread",
        arguments: [
            (#""a;b"c"#, "a;b", "c"), (#""a\"b" c"#, #"a"b"#, " c"), (#""""#, "", ""), (#""a;b"#, nil, #""a;b"#),
            (#""a\"#, nil, #""a\"#), (#""a\""#, nil, #""a\""#), (#"""#, nil, #"""#),
        ])
    func closedTexts(value: String, text: String?, rest: String) {
        var parser = FieldParser(value)
        let found = parser.quotedText(isClosed: true)
        #expect(found == text)
        #expect(String(Substring(parser.rest)) == rest)
    }

    @Test("what does not begin with a quotation mark is no quoted text, and stays unread")
    func noQuotedText() {
        var parser = FieldParser("a\"b\"")
        let text = parser.quotedText()
        #expect(text == nil && parser.next == UInt8(ascii: "a"))
    }

    @Test(
        "a list has elements between its commas, but not between those in quotation marks",
        arguments: [
            ("", []), (" ,\t, ", []), ("a", ["a"]), (" a b\t,,c;d=1 , ", ["a b", "c;d=1"]),
            (#"a="b, c", d"#, [#"a="b, c""#, "d"]), (#"a="\", b", c"#, [#"a="\", b""#, "c"]),
            (#"a\, b"#, [#"a\"#, "b"]), (#"a="b, c"#, [#"a="b, c"#]),
        ])
    func elements(value: String, elements: [String]) {
        #expect(FieldParser.elements(of: [value])?.map(String.init) == elements)
        #expect(FieldParser.elements(of: ["x", value, "y"])?.map(String.init) == ["x"] + elements + ["y"])
    }

    @Test(
        "a number consists of digits, and one that is too large becomes the largest",
        arguments: [
            ("0", 0), ("0060", 60), ("9223372036854775807", .max), ("9223372036854775808", .max),
            ("99999999999999999999999", .max), ("", nil), ("-1", nil), ("+1", nil), ("1.5", nil), ("1 ", nil),
            ("٣", nil),
        ])
    func wholeNumbers(text: String, number: Int64?) {
        #expect(FieldParser.wholeNumber(text) == number)
    }

    @Test("a list of more than a thousand elements is none")
    func longList() {
        let list = String(repeating: "a, ", count: 1000)
        #expect(FieldParser.elements(of: [list])?.count == 1000)
        #expect(FieldParser.elements(of: [list, "a"]) == nil)
    }

    @Test("parameters have names, and values with or without quotation marks; what is malformed is skipped")
    func parameters() {
        var parser = FieldParser(#"text/x junk ; a = b ;c="d;e\"" junk; flag ; =f; g=;h=" i", next;j=k"#)
        var found: [String] = []
        while let (name, value) = parser.parameter() { found.append("\(name)|\(value ?? "none")") }
        #expect(found == ["a|b", #"c|d;e""#, "flag|none", "|f", "g|", "h| i"])
        #expect(parser.next == UInt8(ascii: ","))
    }
}
