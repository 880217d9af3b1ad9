import ErrandJSON
import Foundation
import Testing

@Suite("Documents that parsers disagree about, decoded by both decoders")
struct DocumentTests {
    private struct Small: Decodable {
        var id: Int
        var name: String?
    }

    private func expectSame(_ document: Data, _ name: String) {
        func check<Value: Decodable>(_ type: Value.Type) {
            let outcome = Outcome.both(type, document)
            #expect(outcome.ours == outcome.theirs, "\(name) as \(type)")
        }
        check(Nothing.self)
        check([Int].self)
        // JSONDecoder takes seconds to find out what is in hundreds of arrays in each other.
        guard document.count < 1000 else { return }
        check(Anything.self)
        check([Anything].self)
        check([Double].self)
        check([String].self)
        check([Decimal].self)
        check([UInt8?].self)
        check(Members<[String: Int]>.self)
        check(Small.self)
        check([Small].self)
        check(String.self)
        check(Double.self)
        check(Int.self)
        check(Bool?.self)
    }

    /// A model that asks for nothing: what is wrong in texts and numbers does not matter to it.
    private struct Nothing: Decodable {
        init(from decoder: any Decoder) {}
    }

    @Test("what is JSON is read", arguments: Documents.valid)
    func valid(document: String) {
        #expect(throws: Never.self) { try FastJSONDecoder().decode(Anything.self, from: Data(document.utf8)) }
        expectSame(Data(document.utf8), document)
    }

    @Test("what is not JSON is refused", arguments: Documents.invalid)
    func invalid(document: String) {
        let error = #expect(throws: DecodingError.self) {
            try FastJSONDecoder().decode(Strict.self, from: Data(document.utf8))
        }
        guard case .dataCorrupted(let context) = error else {
            Issue.record("\(document): \(String(describing: error))")
            return
        }
        #expect(context.codingPath.isEmpty)
        expectSame(Data(document.utf8), document)
    }

    @Test("what is not quite JSON is read or refused as by JSONDecoder", arguments: Documents.undefined)
    func undefined(document: String) {
        expectSame(Data(document.utf8), document)
    }

    @Test("bytes that are no UTF-8 are read or refused as by JSONDecoder", arguments: Documents.bytes)
    func bytes(document: [UInt8]) {
        expectSame(Data(document), "\(document)")
        expectSame(Data(document + Array(#"ü"]"#.utf8)), "\(document)")
    }

    @Test("every prefix of a document is refused")
    func prefixes() {
        let document = Array(#" {"a": [1, -2.5e3, true, false, null, "é\n😀"], "b": {"c": {}}} "#.utf8)
        for count in 0..<document.count - 1 {
            #expect(throws: DecodingError.self) {
                try FastJSONDecoder().decode(Strict.self, from: Data(document.prefix(count)))
            }
            expectSame(Data(document.prefix(count)), "\(count)")
        }
    }

    @Test("a document with another byte in any place is read or refused as by JSONDecoder")
    func everyPlace() {
        let document = Array(#"{"a":[-1.5e2,"x\n",null],"id":7}"#.utf8)
        let bytes =
            Array("{}[]:,\"\\/ \t\n019-+.eEtnfu'".utf8) + [0, 1, 0x1F, 0x7F, 0x80, 0xBF, 0xC2, 0xE2, 0xF0, 0xFF]
        for place in document.indices {
            for byte in bytes {
                var changed = document
                changed[place] = byte
                let outcome = Outcome.both(Anything.self, Data(changed))
                #expect(outcome.ours == outcome.theirs, "\(String(decoding: changed, as: UTF8.self))")
            }
        }
    }

    @Test("a text of any length with an escape sequence, or its end, in any place is the same text")
    func lengths() throws {
        for length in 0...40 {
            for place in 0...length {
                var text = String(repeating: "x", count: length)
                text.insert(contentsOf: "\u{1F600}\"\\\n", at: text.index(text.startIndex, offsetBy: place))
                let data = try JSONEncoder().encode([text])
                #expect(try FastJSONDecoder().decode([String].self, from: data) == [text])
                let raw = Data("[\"\(text.dropLast(4))é\(text.prefix(place))\"]".utf8)
                #expect(Outcome.both([String].self, raw).ours == Outcome.both([String].self, raw).theirs)
            }
        }
    }

    @Test("UTF-16 and UTF-32 are read, with and without a byte order mark")
    func encodings() throws {
        let text = #"["é", 1]"#
        for encoding in [
            String.Encoding.utf16LittleEndian, .utf16BigEndian, .utf32LittleEndian, .utf32BigEndian, .utf16, .utf32,
            .utf8,
        ] {
            let data = try #require(text.data(using: encoding))
            expectSame(data, "\(encoding)")
            expectSame(data.dropLast(), "\(encoding), cut")
            for mark in [[0xEF, 0xBB, 0xBF], [0xFF, 0xFE], [0xFE, 0xFF], [0, 0, 0xFE, 0xFF], [0xFF, 0xFE, 0, 0]] {
                expectSame(Data(mark.map { UInt8($0) }) + data, "\(encoding) after \(mark)")
            }
        }
        let utf16 = try #require(text.data(using: .utf16LittleEndian))
        #expect(try FastJSONDecoder().decode([Anything].self, from: utf16).count == 2)
    }
}

/// Any JSON, of which everything is read, and errors are passed on.
private struct Strict: Decodable {
    init(from decoder: any Decoder) throws {
        if var list = try? decoder.unkeyedContainer() {
            while !list.isAtEnd { _ = try list.decode(Strict.self) }
        } else if let members = try? decoder.container(keyedBy: AnyKey.self) {
            for key in members.allKeys { _ = try members.decode(Strict.self, forKey: key) }
        } else {
            let container = try decoder.singleValueContainer()
            do {
                _ = try container.decode(String.self)
            } catch DecodingError.typeMismatch {
                do { _ = try container.decode(Double.self) } catch DecodingError.typeMismatch {
                    // An object with a malformed key has no container, and no other value either.
                    do { _ = try container.decode(Bool.self) } catch DecodingError.typeMismatch {
                        _ = try decoder.container(keyedBy: AnyKey.self)
                    }
                }
            } catch DecodingError.valueNotFound {}
        }
    }
}
