import ErrandJSON
import Foundation
import Testing

@Suite("JSONValue: any JSON")
struct JSONValueTests {
    private func value(_ document: String) throws -> JSONValue {
        try FastJSONDecoder().decode(JSONValue.self, from: Data(document.utf8))
    }

    @Test("both decoders read the same value", arguments: Documents.valid)
    func same(document: String) throws {
        #expect(try value(document) == JSONDecoder().decode(JSONValue.self, from: Data(document.utf8)))
    }

    @Test("each kind of value is read as itself")
    func kinds() throws {
        let document =
            #"{"a":[null,true,false,1,-1.5,1.0,1e2,1e30,18446744073709551615,"x","é\n",[],{}],"b":{"c":[[2]]}}"#
        #expect(
            try value(document) == [
                "a": [
                    JSONValue.null, true, false, 1, -1.5, 1, 100, 1e30, 18_446_744_073_709_551_615.0, "x", "é\n", [],
                    [:],
                ],
                "b": ["c": [[2]]],
            ])
    }

    @Test("inside a model, with a key strategy and with words for infinity")
    func strategies() throws {
        struct Model: Decodable { var anyValue: JSONValue, others: [JSONValue], more: [String: JSONValue] }
        var decoder = FastJSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        let document = #"{"any_value":{"a_b":"inf"},"others":[{"c_d":[]},"x"],"more":{"e_f":null}}"#
        let model = try decoder.decode(Model.self, from: Data(document.utf8))
        #expect(model.anyValue == ["a_b": .number(.infinity)])
        #expect(model.others == [["c_d": []], "x"])
        #expect(model.more == ["e_f": .null])
    }

    @Test(
        "a number or a text that cannot be read is reported with its position",
        arguments: [
            ("[1,\n 1e999]", "a number that the type cannot represent at line 2, column 2"),
            ("[[01]]", "a malformed number at line 1, column 3"),
            (#"{"a":"\x"}"#, "a text with an invalid character or escape sequence at line 1, column 7"),
            (#"{"\x":1}"#, "a text with an invalid character or escape sequence at line 1, column 3"),
        ])
    func faults(document: String, fault: String) throws {
        let error = #expect(throws: DecodingError.self) { try value(document) }
        guard case .dataCorrupted(let context) = error else { throw try #require(error) }
        #expect("\(try #require(context.underlyingError))" == fault)
    }
}
