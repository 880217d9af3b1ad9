@testable import Errand
import Testing

@Suite("Structured fields") struct StructuredFieldTests {
    @Test("of a key that repeats in a dictionary, the last member counts, in the place of the first")
    func repeatedKeys() {
        let members = StructuredField.dictionary(["a=1;p=1, b=2", "a=:AAEC:, c"])
        #expect(
            members == [
                .init(key: "a", value: .bytes([0, 1, 2])), .init(key: "b", value: .integer(2)), .init(key: "c"),
            ])
    }

    @Test("a list keeps its members, also equal ones")
    func list() {
        let members = StructuredField.list(["1, 1;a=2"])
        #expect(
            members == [.init(value: .integer(1)), .init(value: .integer(1), parameters: ["a": .integer(2)])])
    }

    @Test("bytes are Base64, with or without its padding", arguments: [":AAE=:", ":AAE:"])
    func bytes(text: String) {
        #expect(StructuredField.list([text]) == [.init(value: .bytes([0, 1]))])
    }

    @Test(
        "what is no Base64 makes the field count as missing",
        arguments: [":A:", ":A=A=:", ":AAE==:", ":AA E:", ":AAE"])
    func otherBytes(text: String) {
        #expect(StructuredField.list([text]) == nil)
    }
}
