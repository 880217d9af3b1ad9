import Foundation
import Testing

@testable import ErrandJSON

@Suite("Numbers of JSON as floating-point numbers")
struct FloatingPointTests {
    private func double(_ text: String) throws -> Double {
        try Data(text.utf8).withUnsafeBytes { bytes -> Double in
            let number = try #require(JSONNumber(bytes.bindMemory(to: UInt8.self)))
            return Double(number, writtenAs: bytes.bindMemory(to: UInt8.self))
        }
    }

    private func float(_ text: String) throws -> Float {
        try Data(text.utf8).withUnsafeBytes { bytes -> Float in
            let number = try #require(JSONNumber(bytes.bindMemory(to: UInt8.self)))
            return Float(number, writtenAs: bytes.bindMemory(to: UInt8.self))
        }
    }

    private func expectExact(_ text: String, _ location: SourceLocation = #_sourceLocation) throws {
        let (ours, theirs) = (try double(text), strtod(text, nil))
        #expect(ours.bitPattern == theirs.bitPattern, "\(text)", sourceLocation: location)
        let (narrow, theirNarrow) = (try float(text), strtof(text, nil))
        #expect(narrow.bitPattern == theirNarrow.bitPattern, "\(text)", sourceLocation: location)
    }

    @Test(
        "hard numbers are rounded as by the C library",
        arguments: [
            "0", "-0", "0.0", "-0.0", "0e0", "0e999999999999999999999", "1", "-1", "0.1", "0.3", "1e22", "1e23",
            "1e-23",
            "9007199254740991", "9007199254740992", "9007199254740993", "9007199254740994.5", "9007199254740993.0",
            "9007199254740992.999999999999999999999999", "9007199254740993.000000000000000000000000000000000001",
            "1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "1e308", "1e309", "2e308",
            "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587"
                + "207096330286416692887910946555547851940402630657488671505820681908902000708383676273854845817711"
                + "531764475730270069855571366959622842914819860834936475292719074168444365510704342711559699508093"
                + "042880e0",
            "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587"
                + "207096330286416692887910946555547851940402630657488671505820681908902000708383676273854845817711"
                + "531764475730270069855571366959622842914819860834936475292719074168444365510704342711559699508093"
                + "042879.999",
            "4.9406564584124654e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "2.4703282292062329e-324",
            "2.2250738585072011e-308", "2.2250738585072012e-308", "2.2250738585072013e-308", "2.2250738585072014e-308",
            "2.2250738585072011360574097967091319759348195463516456480234261097248222220210769455165295239081"
                + "350879141491589130396211068700864386945946455276572074078206217433799881410632673292535522868813"
                + "721490129811224514518898490572223072852551331557550159143974763979834118019993239625482890171070"
                + "818506906306666559949382757725720157630626906633326475653000092458883164330377797918696120494973"
                + "903778297049050510806099407302629371289589500035837999672072543043602840788957717961509455167482"
                + "434710307026091446215722898802581825451803257070188608721131280795122334262883686223215037756666"
                + "225039825343359745688844239002654981983854879482922068947216898310996983658468140228542433306603"
                + "398508864458040010349339704275671864433837704860378616227717385456230658746790140867233276367187"
                + "51234567890123456789012345678901e-308",
            "6929495644600919.5", "3.7455744005952583e15", "8.41183190826e-315",
            "1.00000000000000011102230246251565404236316680908203125",
            "1.00000000000000011102230246251565404236316680908203124",
            "1.00000000000000011102230246251565404236316680908203126",
            "12345678901234567890", "123456789012345678901234567890",
            "0.000000000000000000000000000000000000000000001234567890123456789012",
            "1e-400", "1e400", "1e-99999999999", "1e99999999999", "18446744073709551615", "18446744073709551616",
            "1.401298464324817e-45", "7.006492321624085e-46", "7.006492321624086e-46", "3.4028235677973366e38",
            "3.4028236e38",
            "1.17549435e-38", "16777217", "16777219", "1.00000017881393432617187499", "1.00000017881393432617187500001",
            "0.0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
                + "0000001e101",
        ])
    func hardCases(text: String) throws {
        try expectExact(text)
    }

    @Test("a number with more digits or a greater exponent than any other is read in time")
    func longNumbers() throws {
        let nines = String(repeating: "9", count: 200_000)
        try expectExact("0.\(nines)")
        try expectExact("\(nines)e-200000")
        try expectExact("0.\(String(repeating: "0", count: 200_000))17e200000")
        try expectExact("17\(String(repeating: "0", count: 200_000))e-200000")
        try expectExact("1e-\(String(repeating: "0", count: 200_000))5")
        try expectExact("9007199254740993\(String(repeating: "0", count: 2000))1e-2001")
    }

    @Test("random numbers are rounded as by the C library, whether they have few digits or many")
    func randomNumbers() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<Self.count {
            let value = Double(bitPattern: random.next())
            guard value.isFinite else { continue }
            try expectExact("\(value)".replacing("+", with: ""))
            try expectExact(String(format: "%.16e", value))
            try expectExact(String(format: "%.17g", value))
            try expectExact(String(format: "%.\(Int.random(in: 18...40))e", value))
            let digits = String((0..<Int.random(in: 1...25)).map { _ in "0123456789".randomElement() ?? "0" })
            try expectExact("1\(digits)e\(Int.random(in: -360...310))")
            try expectExact("0.\(digits)")
        }
    }

    @Test("numbers exactly between two others, and just beside those, are rounded as by the C library")
    func ties() throws {
        var random = SystemRandomNumberGenerator()
        for index in 0..<Self.count / 4 {
            let value = Double(bitPattern: random.next()).magnitude
            guard value.isFinite, value < .greatestFiniteMagnitude else { continue }
            let middle =
                index % 2 == 0 ? Self.middle(above: value) : Self.middle(above: Float(Float16.random(in: 0...1)))
            try expectExact("\(middle.digits)e\(middle.exponent)")
            try expectExact("\(middle.digits)00000000000000000001e\(middle.exponent - 20)")
            try expectExact("\(middle.digits.dropLast())4999999e\(middle.exponent - 6)")
        }
    }

    private static var count: Int {
        ProcessInfo.processInfo.environment["JSON_NUMBERS"].flatMap { Int($0) } ?? 2000
    }

    /// All digits of the number halfway to the next one, and their power of ten.
    private static func middle(above value: Double) -> (digits: String, exponent: Int) {
        let biased = Int(value.exponentBitPattern)
        let significand = value.significandBitPattern | (biased == 0 ? 0 : 1 << 52)
        return middle(of: significand, power: max(biased, 1) - 1075)
    }

    private static func middle(above value: Float) -> (digits: String, exponent: Int) {
        let biased = Int(value.exponentBitPattern)
        let significand = UInt64(value.significandBitPattern | (biased == 0 ? 0 : 1 << 23))
        return middle(of: significand, power: max(biased, 1) - 150)
    }

    private static func middle(of significand: UInt64, power: Int) -> (digits: String, exponent: Int) {
        var digits = Digits(2 * significand + 1)
        for _ in 0..<max(power - 1, 0) { digits.multiply(by: 2) }
        // A half is five tenths.
        for _ in 0..<max(1 - power, 0) { digits.multiply(by: 5) }
        return (digits.text, min(power - 1, 0))
    }

    @Test("the table has the powers of five, rounded as the algorithm needs them")
    func table() {
        for power in PowersOfFive.smallest...PowersOfFive.largest {
            let index = 2 * (power - PowersOfFive.smallest)
            let (high, low) = (PowersOfFive.words[index], PowersOfFive.words[index + 1])
            #expect(high >> 63 == 1)
            var exact = BigNatural(1)
            for _ in 0..<power.magnitude { exact.multiply(by: 5) }
            // The words times a power of two; the next number of 128 bits is greater.
            var (table, next) = (BigNatural(words: [low, high]), BigNatural(words: [low, high]))
            next = next.successor
            if power >= 0 {
                let bits = exact.bitCount
                if bits < 128 { exact.shiftLeft(by: 128 - bits) }
                table.shiftLeft(by: max(bits - 128, 0))
                next.shiftLeft(by: max(bits - 128, 0))
                #expect(table < exact || table == exact, "\(power)")
                #expect(exact < next, "\(power)")
            } else {
                // The reciprocal times the power of five is just below or above a power of two.
                var two = BigNatural(1)
                two.shiftLeft(by: exact.bitCount + 127)
                let (below, above) = power < -27 ? (table, next) : (table.predecessor, table)
                #expect(exact.multiplied(by: below) < two, "\(power)")
                #expect(two < exact.multiplied(by: above), "\(power)")
            }
        }
    }
}

/// A number by its decimal digits, nine in each element, the least significant first.
private struct Digits {
    private var groups: [UInt64]

    init(_ value: UInt64) {
        groups = []
        var rest = value
        while rest > 0 {
            groups.append(rest % 1_000_000_000)
            rest /= 1_000_000_000
        }
    }

    mutating func multiply(by factor: UInt64) {
        var carry: UInt64 = 0
        for index in groups.indices {
            let product = groups[index] * factor + carry
            groups[index] = product % 1_000_000_000
            carry = product / 1_000_000_000
        }
        if carry > 0 { groups.append(carry) }
    }

    var text: String {
        groups.reversed().enumerated().map { index, group in
            index == 0 ? "\(group)" : String("\(group + 1_000_000_000)".dropFirst())
        }.joined()
    }
}

extension BigNatural {
    fileprivate init(words: [UInt64]) {
        self.init(words.last ?? 0)
        for word in words.dropLast().reversed() {
            shiftLeft(by: 64)
            multiply(by: 1, adding: word)
        }
    }

    fileprivate var bitCount: Int { words.count * 64 - (words.last?.leadingZeroBitCount ?? 0) }

    fileprivate var successor: BigNatural {
        var next = self
        next.multiply(by: 1, adding: 1)
        return next
    }

    /// The number before one that is not zero.
    fileprivate var predecessor: BigNatural {
        var words = words
        for index in words.indices {
            let (word, isLess) = words[index].subtractingReportingOverflow(1)
            words[index] = word
            if !isLess { break }
        }
        return BigNatural(words: words)
    }

    fileprivate func multiplied(by other: BigNatural) -> BigNatural {
        var sum = [UInt64](repeating: 0, count: words.count + other.words.count)
        for (low, word) in words.enumerated() {
            var carry: UInt64 = 0
            for (high, otherWord) in other.words.enumerated() {
                let product = word.multipliedFullWidth(by: otherWord)
                let (first, isOver) = product.low.addingReportingOverflow(sum[low + high])
                let (second, isOverAgain) = first.addingReportingOverflow(carry)
                sum[low + high] = second
                carry = product.high + (isOver ? 1 : 0) + (isOverAgain ? 1 : 0)
            }
            sum[low + other.words.count] = carry
        }
        while sum.last == 0 { sum.removeLast() }
        return BigNatural(words: sum)
    }
}
