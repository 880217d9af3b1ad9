import ErrandTestSupport
import Testing

@testable import Errand

/// The vectors are our own, of each kind that the public tests of RFC 9651 (httpwg/structured-field-tests) have: those
/// come without a license.
@Suite("Structured fields (RFC 9651)") struct StructuredFieldTests {
    private typealias Member = StructuredField.Member

    private static let kinds: [(String, StructuredField.Value)] = [
        ("0", .integer(0)), ("-0", .integer(0)), ("007", .integer(7)), ("-12", .integer(-12)),
        ("999999999999999", .integer(999_999_999_999_999)), ("-999999999999999", .integer(-999_999_999_999_999)),
        ("2.5", .decimal(thousandths: 2500)), ("-0.25", .decimal(thousandths: -250)),
        ("0.0", .decimal(thousandths: 0)), ("1.005", .decimal(thousandths: 1005)), ("00.5", .decimal(thousandths: 500)),
        ("999999999999.999", .decimal(thousandths: 999_999_999_999_999)),
        (#""a b""#, .string("a b")), (#""""#, .string("")), (#""a \"b\" \\""#, .string(#"a "b" \"#)),
        ("gzip", .token("gzip")), ("*", .token("*")), ("Text/html", .token("Text/html")),
        ("a:b/c%d!#$&'*+-.^_`|~", .token("a:b/c%d!#$&'*+-.^_`|~")),
        (":AAEC:", .bytes([0, 1, 2])), ("::", .bytes([])), (":AAE=:", .bytes([0, 1])), (":AAE:", .bytes([0, 1])),
        (":/+8=:", .bytes([0xFF, 0xEF])),
        ("?1", .boolean(true)), ("?0", .boolean(false)),
        ("@0", .date(0)), ("@1659578233", .date(1_659_578_233)), ("@-62135596800", .date(-62_135_596_800)),
        (#"%"plain""#, .displayString("plain")), (#"%"f%c3%bc%22%25 \""#, .displayString(#"fü"% \"#)),
        ("()", .list([])), ("(  )", .list([])),
        (
            "(1  a;p )",
            .list([Member(value: .integer(1)), Member(value: .token("a"), parameters: ["p": .boolean(true)])])
        ),
    ]

    @Test("each kind of value is read, as a member of a list and of a dictionary", arguments: kinds)
    func values(text: String, value: StructuredField.Value) {
        #expect(StructuredField.list([text]) == [Member(value: value)])
        #expect(
            StructuredField.list(["\(text);a=1,b"]) == [
                Member(value: value, parameters: ["a": .integer(1)]), Member(value: .token("b")),
            ])
        #expect(StructuredField.dictionary(["k=\(text) , l"]) == [Member(key: "k", value: value), Member(key: "l")])
    }

    @Test("each kind of value but an inner list is an item, and the value of a parameter", arguments: kinds)
    func items(text: String, value: StructuredField.Value) {
        let (item, parameter) = (StructuredField.item(["  \(text) "]), StructuredField.item(["t;a=\(text)"]))
        if case .list = value {
            #expect(item == nil && parameter == nil)
        } else {
            #expect(item == Member(value: value))
            #expect(parameter == Member(value: .token("t"), parameters: ["a": value]))
        }
    }

    @Test(
        "what is malformed makes the whole field count as missing",
        arguments: [
            // Numbers and dates
            "-", "--1", "+1", "1.", ".1", "1..2", "1.2.3", "1.2345", "1234567890123.1", "1000000000000000", "1e3",
            "0x1",
            "- 1", "4-2", "@", "@1.5", "@a", "@@1",
            // Strings
            #"""#, #""a"#, #""a\"#, #""a\b""#, #""a\"#, "\"\t\"", "\"\u{7F}\"", "\"é\"", "'a'", #""a"b"#,
            // Tokens and booleans
            "a,", "a b", "é", "a\\b", "/a", "?", "?2", "?T", "? 1", "?01",
            // Bytes
            ":", ":A:", ":A=A=:", ":AAE==:", ":AA E:", ":AAE", ":AA-_:", ":!AAA:", ":AAAA:A",
            // Display strings
            "%", "%a", #"%"a"#, #"%"%C3%BC""#, #"%"%c3""#, #"%"%c3%28""#, #"%"%a""#, #"%"%""#, "%\"\t\"", #"%"ü""#,
            "%'a'",
            // Inner lists
            "(", "(1", "(1,2)", "(1 2", "1)", "((1))", "(1\t2)", "(1;)", #"("a""b")"#, "(1)2",
            // Parameters
            "a;", "a;B=1", "a;1", "a;b=", "a;b= 1", "a;b =1", "a ;b", "a;\tb", "a;;b", "a;b=(1)",
            // Lists
            ",a", "a,,b", "a;b,", "a, ", "a\u{B}, b",
        ])
    func malformed(text: String) {
        #expect(StructuredField.list(["ok, \(text)"]) == nil)
        #expect(StructuredField.item([text]) == nil)
    }

    @Test(
        "a malformed dictionary counts as missing",
        arguments: [
            "A=1", "1=1", "-a=1", "a =1", "a= 1", "a=", "=1", "a=1,", "a=1,,b", "é=1", "\"a\"=1", "a=1 b=2", "a:1",
        ])
    func malformedDictionaries(text: String) {
        #expect(StructuredField.dictionary([text]) == nil)
    }

    @Test("a key, a token and a string have exactly the characters that the standard allows")
    func characters() {
        let letters = "abcdefghijklmnopqrstuvwxyz"
        let digits = "0123456789"
        for scalar in (UInt8(0)..<0x80).map(UnicodeScalar.init) {
            let character = "\(scalar)"
            func isIn(_ characters: String) -> Bool { characters.contains(character) }
            #expect((StructuredField.dictionary(["a\(character)a=1"]) != nil) == isIn(letters + digits + "_-.*,;"))
            #expect((StructuredField.dictionary(["x, \(character)a=1"]) != nil) == isIn(letters + "* \t"))
            #expect((StructuredField.item(["x;\(character)a=1"]) != nil) == isIn(letters + "* "))
            let inToken = letters + letters.uppercased() + digits + "!#$%&'*+-.^_`|~:/"
            #expect((StructuredField.item(["a\(character)a"]) != nil) == isIn(inToken + ";"))
            #expect(
                (StructuredField.item(["\(character)a"])?.value == .token("\(character)a"))
                    == isIn(letters + letters.uppercased() + "*"))
            let isInString = scalar.value >= 0x20 && scalar.value < 0x7F && !isIn("\"\\")
            #expect((StructuredField.item(["\"a\(character)a\""])?.value == .string("a\(character)a")) == isInString)
            #expect((StructuredField.item(["\"\\\(character)\""]) != nil) == isIn("\"\\"))
        }
    }

    @Test("a list keeps its members, also equal ones, of one field or several; an empty one has none")
    func lists() {
        #expect(
            StructuredField.list(["1,1;a=2", "", " \tb\t"]) == [
                Member(value: .integer(1)), Member(value: .integer(1), parameters: ["a": .integer(2)]),
                Member(value: .token("b")),
            ])
        #expect(StructuredField.list(["a\t,\tb"])?.count == 2)
        for empty in [[], [""], ["  ", "\t"]] {
            #expect(StructuredField.list(empty) == [] && StructuredField.dictionary(empty) == [])
            #expect(StructuredField.item(empty) == nil)
        }
    }

    @Test("of a key that repeats in a dictionary, the last member counts, in the place of the first")
    func repeatedKeys() {
        #expect(
            StructuredField.dictionary(["a=1;p=1, b=2", "a=:AAEC:, c"]) == [
                Member(key: "a", value: .bytes([0, 1, 2])), Member(key: "b", value: .integer(2)), Member(key: "c"),
            ])
        #expect(StructuredField.dictionary(["a=1, a;x"]) == [Member(key: "a", parameters: ["x": .boolean(true)])])
    }

    @Test("of a parameter that repeats, the last one counts; parameters follow an inner list too")
    func parameters() {
        #expect(
            StructuredField.item(["t; a=1;b;  a=x;*c=?0"])?.parameters == [
                "a": .token("x"), "b": .boolean(true), "*c": .boolean(false),
            ])
        #expect(
            StructuredField.dictionary(["k=(1;a 2);b=\"c\""]) == [
                Member(
                    key: "k",
                    value: .list([
                        Member(value: .integer(1), parameters: ["a": .boolean(true)]), Member(value: .integer(2)),
                    ]), parameters: ["b": .string("c")])
            ])
    }

    @Test("a field is read with as many members, parameters and items as the standard asks for, and not with more")
    func longFields() {
        func texts(_ count: Int) -> [String] { (0..<count).map { "a\($0)" } }
        func list(_ count: Int) -> Int? { StructuredField.list([texts(count).joined(separator: ", ")])?.count }
        func dictionary(_ count: Int) -> Int? {
            StructuredField.dictionary([texts(count).map { $0 + "=1" }.joined(separator: ",")])?.count
        }
        func parameters(_ count: Int) -> Int? {
            StructuredField.item(["t" + texts(count).map { ";\($0)=1" }.joined()])?.parameters.count
        }
        func hasItems(_ count: Int) -> Bool {
            StructuredField.list(["(\(texts(count).joined(separator: " ")))"]) != nil
        }
        #expect(list(1024) == 1024 && list(1025) == nil)
        #expect(dictionary(1024) == 1024 && dictionary(1025) == nil)
        #expect(parameters(256) == 256 && parameters(257) == nil)
        #expect(hasItems(256) && !hasItems(257))
        let text = String(repeating: "=", count: 5000)
        #expect(StructuredField.item(["\"\(text)\""])?.value == .string(text))
        let marks = String(repeating: #"\""#, count: 2000)
        #expect(StructuredField.item(["\"\(marks)\""])?.value == .string(String(repeating: "\"", count: 2000)))
    }
}
