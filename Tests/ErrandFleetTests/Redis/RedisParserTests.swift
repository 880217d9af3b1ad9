@testable import ErrandFleet
import Testing

@Suite("The values of Redis's protocol") struct RedisParserTests {
    private static let transcript =
        "+OK\r\n-ERR no\r\n:-42\r\n$5\r\na\r\nbc\r\n$0\r\n\r\n$-1\r\n*-1\r\n_\r\n#t\r\n#f\r\n,1.5\r\n,inf\r\n"
        + "(123456789012345678901\r\n!5\r\nERR x\r\n=7\r\ntxt:abc\r\n*3\r\n:1\r\n*0\r\n~1\r\n+x\r\n"
        + "%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n_\r\n"
        + "|1\r\n+ttl\r\n:3\r\n>3\r\n+message\r\n$1\r\nc\r\n$2\r\n\r\n\r\n"
        + "*2\r\n|1\r\n+x\r\n*1\r\n:1\r\n:5\r\n:6\r\n+end\r\n"

    private static let values: [RedisValue] = [
        text("OK"), .error(Array("ERR no".utf8)), .number(-42), text("a\r\nbc"), text(""), .null, .null, .null,
        .boolean(true), .boolean(false), text("1.5"), text("inf"), text("123456789012345678901"),
        .error(Array("ERR x".utf8)), text("abc"), .list([.number(1), .list([]), .list([text("x")])]),
        .map([text("a"), .number(1), text("b"), .list([.null])]),
        .push([text("message"), text("c"), text("\r\n")]), .list([.number(5), .number(6)]), text("end"),
    ]

    private static func text(_ text: String) -> RedisValue { .text(Array(text.utf8)) }

    @Test("all kinds of values are read, wherever the bytes are split")
    func splits() throws {
        let bytes = Array(Self.transcript.utf8)
        for split in 0...bytes.count {
            var parser = RedisParser()
            let values = try parser.read(bytes[..<split]) + parser.read(bytes[split...])
            #expect(values == Self.values, "split at \(split)")
        }
        var parser = RedisParser()
        var values: [RedisValue] = []
        for index in bytes.indices { values += try parser.read(bytes[index...index]) }
        #expect(values == Self.values)
    }

    @Test(
        "what is not the protocol is refused",
        arguments: [
            "", "\r", "OK\r", "+OK", "HTTP/1.1 400 Bad Request\r", "?1\r", ":\r", ":a\r", ":+\r", ": 1\r",
            ":9223372036854775808\r", "$-2\r", "$\r", "$x\r", "$1\r\nab\r", "$1\r\nabc", "*-2\r", "*1\r\n>1\r",
            "#x\r", "#\r", "_x\r", ",\r", ",x\r", "(1.5\r", "=3\r\ntxt\r", "=4\r\ntxtx\r", "$?\r", "*?\r", "\0\r",
        ])
    func wrong(_ text: String) {
        var parser = RedisParser()
        #expect(throws: RedisDamage.self) { try parser.read(Array("\(text)\n".utf8)[...]) }
    }

    @Test(
        "what is too large is refused when it is announced, or when it arrives",
        arguments: [
            "$9223372036854775807\r\n", "$4294967296\r\n", "*9223372036854775807\r\n", "%9223372036854775807\r\n",
            "%4611686018427387904\r\n", "*4097\r\n", "%2049\r\n", "|2049\r\n",
            String(repeating: "*1\r\n", count: 9), String(repeating: "|0\r\n", count: 1 << 20),
            "*3\r\n" + String(repeating: "$500000\r\n\(String(repeating: "x", count: 500_000))\r\n", count: 2),
            "+" + String(repeating: "x", count: 17 << 10), "*4000\r\n*4000\r\n",
            "*100\r\n" + String(repeating: "+\(String(repeating: "x", count: 16_000))\r\n", count: 100),
        ])
    func tooLarge(_ text: String) {
        var parser = RedisParser()
        #expect(throws: RedisDamage.self) { try parser.read(Array(text.utf8)[...]) }
    }

    @Test("the largest record is read, one after the other")
    func largest() throws {
        let bytes = [UInt8](repeating: 10, count: FleetRecordRules.largestRecord)
        let message = Array("*2\r\n$16\r\n1234567890123456\r\n$\(bytes.count)\r\n".utf8) + bytes + [13, 10]
        var parser = RedisParser()
        for _ in 0..<3 {
            let values = try parser.read(message[...])
            #expect(values == [.list([.text(Array("1234567890123456".utf8)), .text(bytes)])])
        }
    }

    @Test("random bytes are read or refused, and end no process")
    func random() {
        var generator = SystemRandomNumberGenerator()
        let signs = Array("+-:$*%~>|!=_#,(\r\n0123456789tf ".utf8)
        for _ in 0..<20_000 {
            var parser = RedisParser()
            let count = Int.random(in: 1...40, using: &generator)
            let bytes = (0..<count).map { _ in signs.randomElement(using: &generator) ?? 0 }
            _ = try? parser.read(bytes[...])
        }
    }

    @Test("a message about a change has a revision, and bytes or none")
    func changes() {
        func change(_ text: String) -> RedisChange? { RedisChange(Array(text.utf8)) }
        #expect(change("12=ab")?.record == FleetRecord(bytes: Array("ab".utf8), revision: FleetRevision(12)))
        #expect(change("12=")?.record?.bytes == [])
        #expect(change("12-")?.revision == FleetRevision(12))
        #expect(change("12-")?.record == nil)
        for wrong in ["", "12", "=ab", "12-x", "12+x", "-12=", "99999999999999999999=", "1 2=x"] {
            #expect(change(wrong) == nil, "\(wrong)")
        }
    }
}
