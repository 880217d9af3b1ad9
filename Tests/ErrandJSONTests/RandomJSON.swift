/// A generator of documents and of models for them.
struct RandomJSON {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

    private mutating func below(_ bound: Int) -> Int {
        // xorshift64*, so that a seed gives the same document on every machine.
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return Int((state &* 0x2545_F491_4F6C_DD1D) >> 33) % bound
    }

    private mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

    private static let names = [
        "a", "b", "id", "name", "tags", "one_two", "oneTwo", "_private_name_", "Total", "é", "e\u{301}", "\u{212A}",
        "K",
        "super", "1", "a_longer_name_of_more_than_16", "", "line_1", "x__y", "with \\\"escape", "\\u0061", "c", "C",
        "foo_2bar_a1b", "foo_x-y",
        "FOO_bar",
    ]

    // MARK: Documents

    mutating func document() -> [UInt8] {
        var out: [UInt8] = []
        write(depth: 4, to: &out)
        space(&out)
        // Some documents are damaged.
        guard below(8) == 0, !out.isEmpty else { return out }
        for _ in 0...below(3) {
            switch below(4) {
            case 0: out[below(out.count)] = UInt8(below(256))
            case 1: out.remove(at: below(out.count))
            case 2: out.insert(pick(Array("{}[],:\"\\0-.eE+ntf\u{1}".utf8)), at: below(out.count))
            default: out.removeLast(below(out.count))
            }
            if out.isEmpty { break }
        }
        return out
    }

    private mutating func space(_ out: inout [UInt8]) {
        if below(6) == 0 { out += Array(pick([" ", "\n", "\t", "\r\n  ", ""]).utf8) }
    }

    private mutating func write(depth: Int, to out: inout [UInt8]) {
        space(&out)
        switch below(depth > 0 ? 10 : 6) {
        case 0: out += Array(pick(["null", "true", "false"]).utf8)
        case 1, 2, 3: out += Array(number().utf8)
        case 4, 5: text(&out)
        case 6, 7:
            out += Array("[".utf8)
            let count = below(6)
            for index in 0..<count {
                if index > 0 { out += Array(",".utf8) }
                write(depth: depth - 1, to: &out)
            }
            if count > 0, below(30) == 0 { out += Array(",".utf8) }
            space(&out)
            out += Array("]".utf8)
        default:
            out += Array("{".utf8)
            let count = below(40) == 0 ? 40 : below(8)
            for index in 0..<count {
                if index > 0 { out += Array(",".utf8) }
                space(&out)
                out += Array("\"\(count == 40 ? "\(below(40))" : pick(Self.names))\"".utf8)
                space(&out)
                out += Array(":".utf8)
                write(depth: depth - 1, to: &out)
            }
            space(&out)
            out += Array("}".utf8)
        }
    }

    private mutating func number() -> String {
        func digits(_ count: Int) -> String {
            (0..<count).map { _ in "\(below(10))" }.joined()
        }
        let sign = below(4) == 0 ? "-" : ""
        switch below(12) {
        case 0...4: return "\(sign)\(below(300))"
        case 5: return sign + pick(["0", "127", "128", "255", "256", "32768", "65536", "2147483648", "4294967296"])
        case 6:
            return sign
                + pick([
                    "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616",
                    "9007199254740993", "170141183460469231731687303715884105728", "9007199254740993.5",
                    "9223372036854775808.0",
                ])
        case 7: return "\(sign)\(below(100)).\(digits(1 + below(22)))"
        case 8: return "\(sign)\(1 + below(9)).\(digits(1 + below(18)))e\(below(640) - 330)"
        case 9: return "\(sign)\(below(50)).0"
        case 10: return "\(sign)\(below(50))e\(below(25))"
        default: return pick(["01", "1.", "-", "1e", "1.e5", "1e+", "--1", "0e0", "-0", "1.5.5", "1e5e5", "0.0e-400"])
        }
    }

    private mutating func text(_ out: inout [UInt8]) {
        out += Array("\"".utf8)
        for _ in 0..<below(4) {
            switch below(14) {
            case 0...4: out += Array(pick(["a", "name", "low", "AQID", "1", "http://a.test/b"]).utf8)
            case 5: out += Array(pick(["é", "日本", "\u{1F600}", "\u{7F}", "\u{2028}"]).utf8)
            case 6: out += Array(pick(["\\n", "\\\"", "\\\\", "\\/", "\\t", "\\b", "\\f", "\\r"]).utf8)
            case 7: out += Array(pick(["\\u0041", "\\u00e9", "\\u20AC", "\\ud83d\\ude00", "\\u0000", "\\u0022"]).utf8)
            case 8: out += Array("a text of more than fifteen bytes".utf8)
            case 9: out += Array(pick(["inf", "-inf", "nan"]).utf8)
            case 10 where below(4) == 0:
                out += Array(pick(["\\ud800", "\\udc00", "\\u12", "\\q", "\u{1}", "\\ud800\\u0041"]).utf8)
            case 11 where below(4) == 0:
                out += pick([[0xFF], [0xC3], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xC0, 0x80]])
            default: out += Array("x".utf8)
            }
        }
        out += Array("\"".utf8)
    }

    // MARK: Models

    mutating func strategies() -> Strategies {
        Strategies(
            keys: below(2) == 0 ? .asWritten : pick(Strategies.Keys.allCases), dates: pick(Strategies.Dates.allCases),
            bytes: pick(Strategies.Bytes.allCases), convertsFloats: below(3) == 0)
    }

    mutating func script(depth: Int = 3) -> Script {
        switch below(depth > 0 ? 5 : 2) {
        case 0: .leaf(pick(Leaf.allCases))
        case 1: .leaf(.anything)
        case 2: .array(steps(depth))
        default: .object(members(depth))
        }
    }

    private mutating func members(_ depth: Int) -> [(name: String, step: Script.Step)] {
        (0..<below(9)).map { _ in (name(), step(depth - 1)) }
    }

    private mutating func name() -> String {
        let name = pick(Self.names)
        return name == "\\u0061" ? "\(below(40))" : name == "with \\\"escape" ? "with \"escape" : name
    }

    private mutating func steps(_ depth: Int) -> [Script.Step] { (0..<below(8)).map { _ in step(depth - 1) } }

    private mutating func step(_ depth: Int) -> Script.Step {
        switch below(depth > 0 ? 16 : 8) {
        case 0...3: .leaf(pick(Leaf.allCases))
        case 4, 5: .leafIfPresent(pick(Leaf.allCases))
        case 6: .isNull
        case 7: .contains
        case 8, 9: .decode(script(depth: depth))
        case 10, 11: .decodeIfPresent(script(depth: depth))
        case 12: .nestedObject(members(depth))
        case 13: .nestedArray(steps(depth))
        case 14: .superDecoder(script(depth: depth))
        default: .ownSuperDecoder(script(depth: depth))
        }
    }
}
