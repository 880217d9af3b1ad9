import Foundation
import Testing

@testable import ErrandJSON
import ErrandTestSupport

@Suite("The JSON decoder")
struct FastJSONDecoderTests {
    private struct Film: Decodable, Equatable {
        var id: Int
        var title: String
        var releaseDate: Date?
    }

    @Test("it decodes by itself, and a copy has strategies of its own")
    func alone() throws {
        let plain = FastJSONDecoder()
        var snake = plain
        snake.keyDecodingStrategy = .convertFromSnakeCase
        let data = Data(#"[{"id": 7, "title": "Alien", "release_date": 5}]"#.utf8)
        #expect(try plain.decode([Film].self, from: data).first?.releaseDate == nil)
        let date = Date(timeIntervalSinceReferenceDate: 5)
        #expect(try snake.decode([Film].self, from: data) == [Film(id: 7, title: "Alien", releaseDate: date)])
    }

    @Test("tasks share a decoder")
    func shared() async throws {
        let decoder = FastJSONDecoder()
        let data = Data(#"{"id": 1, "title": "Alien"}"#.utf8)
        let films = try await withThrowingTaskGroup(of: Film.self) { group in
            for _ in 0..<50 { group.addTask { try decoder.decode(Film.self, from: data) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(films.allSatisfy { $0.title == "Alien" } && films.count == 50)
    }

    /// A model that keeps everything that it can get from its decoder.
    private struct Keeper: Decodable {
        var decoder: any Decoder
        var members: KeyedDecodingContainer<AnyKey>
        var list: any UnkeyedDecodingContainer
        var parent: any Decoder

        init(from decoder: any Decoder) throws {
            self.decoder = decoder
            members = try decoder.container(keyedBy: AnyKey.self)
            list = try members.nestedUnkeyedContainer(forKey: AnyKey("list"))
            parent = try members.superDecoder(forKey: AnyKey("text"))
        }
    }

    @Test("a decoder and containers that a model keeps still work when their document has been freed")
    func kept() throws {
        func decode() throws -> Keeper {
            let document = #"{"list": [1, "two"], "text": "long enough not to be stored in place"}"#
            return try FastJSONDecoder().decode([Keeper].self, from: Data("[\(document)]".utf8))[0]
        }
        var keeper = try decode()
        #expect(try keeper.members.decode(String.self, forKey: AnyKey("text")).hasPrefix("long enough"))
        #expect(try keeper.list.decode(Int.self) == 1)
        #expect(try keeper.list.decode(String.self) == "two")
        #expect(try keeper.parent.singleValueContainer().decode(String.self).hasSuffix("place"))
        #expect(keeper.parent.codingPath.map(\.stringValue) == ["Index 0", "text"])
        #expect(try keeper.decoder.container(keyedBy: AnyKey.self).allKeys.map(\.stringValue) == ["list", "text"])
    }

    private struct NestedKeeper: Decodable {
        var nested: KeyedDecodingContainer<AnyKey>

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: AnyKey.self)
            let first = try members.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("a"))
            nested = try first.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("b"))
        }
    }

    private final class Token: Sendable {}

    @Test("a nested container that a model keeps is not used for the next model, and is freed with the model")
    func keptNested() throws {
        var decoder = FastJSONDecoder()
        let token = try #require(CodingUserInfoKey(rawValue: "token"))
        decoder.userInfo[token] = Token()
        weak var weakToken: Token?
        weakToken = decoder.userInfo[token] as? Token
        let documents = (0..<4).map { #"{"a":{"b":{"n":\#($0)}}}"# }
        do {
            let keepers = try decoder.decode(
                [NestedKeeper].self, from: Data("[\(documents.joined(separator: ","))]".utf8))
            decoder.userInfo = [:]
            for (index, keeper) in keepers.enumerated() {
                #expect(try keeper.nested.decode(Int.self, forKey: AnyKey("n")) == index)
                #expect(keeper.nested.codingPath.map(\.stringValue) == ["Index \(index)", "a", "b"])
            }
            #expect(weakToken != nil)
        }
        #expect(weakToken == nil)
    }

    private final class Box {
        var decoder: (any Decoder)?
    }

    private struct Failing: DecodableWithConfiguration {
        init(from decoder: any Decoder, configuration: Box) throws {
            configuration.decoder = decoder
            throw CancellationError()
        }
    }

    @Test("a decoder that a failing model keeps still works")
    func keptByFailure() throws {
        let box = Box()
        #expect(throws: CancellationError.self) {
            let document = Data(#""a text that is not in place""#.utf8)
            _ = try FastJSONDecoder().decode(Failing.self, from: document, configuration: box)
        }
        let text = try box.decoder?.singleValueContainer().decode(String.self)
        #expect(text == "a text that is not in place")
    }

    private struct Doubled: DecodableWithConfiguration {
        var value: Int

        init(from decoder: any Decoder, configuration: Int) throws {
            value = try decoder.singleValueContainer().decode(Int.self) * configuration
        }
    }

    @Test("a model gets the configuration that it needs")
    func configuration() throws {
        #expect(try FastJSONDecoder().decode(Doubled.self, from: Data("21".utf8), configuration: 2).value == 42)
    }

    @Test(
        "a value is found below keys, whatever the key strategy",
        arguments: [FastJSONDecoder.KeyDecodingStrategy.useDefaultKeys, .convertFromSnakeCase])
    func below(keys: FastJSONDecoder.KeyDecodingStrategy) throws {
        var decoder = FastJSONDecoder()
        decoder.keyDecodingStrategy = keys
        let data = Data(
            #"{"x": [0], "data_list": {"first-films": {"n": 1}, "all_films": [{"id": 7, "title": "A"}]}}"#.utf8)
        #expect(try decoder.decode([Film].self, from: data, below: ["data_list", "all_films"]).first?.id == 7)
        let missing = #expect(throws: DecodingError.self) {
            try decoder.decode(Int.self, from: data, below: ["data_list", "none"])
        }
        guard case .keyNotFound(let key, let context) = missing else { throw try #require(missing) }
        #expect(key.stringValue == "none" && context.codingPath.count == 1)
        let noObject = #expect(throws: DecodingError.self) {
            try decoder.decode(Int.self, from: data, below: ["x", "y"])
        }
        guard case .typeMismatch(_, let context) = noObject else { throw try #require(noObject) }
        #expect(context.codingPath.map(\.stringValue) == ["x"])
        let deep = #expect(throws: DecodingError.self) {
            try decoder.decode(Int.self, from: data, below: ["data_list", "first-films"])
        }
        guard case .typeMismatch(_, let context) = deep else { throw try #require(deep) }
        #expect(context.codingPath.map(\.stringValue).last == "first-films")
    }

    @Test("a syntax error says where it is, and quotes nothing")
    func position() throws {
        let data = Data("{\n  \"secret\": \"hunter2\",\n  \"b\": hunter2\n}".utf8)
        let error = #expect(throws: DecodingError.self) { try FastJSONDecoder().decode(Film.self, from: data) }
        guard case .dataCorrupted(let context) = error else { throw try #require(error) }
        #expect("\(try #require(context.underlyingError))" == "unexpected character at line 3, column 8")
        #expect(!"\(context)".contains("hunter2"))
    }

    @Test("the position of a fault is that of its byte, wherever it is and in whatever order faults are found")
    func positions() {
        var random = SeededRandom(7)
        for length in [1, 255, 256, 257, 5000] {
            let bytes = (0..<length).map { _ in random.chance(length == 5000 ? 1 : 20) ? UInt8(ascii: "\n") : 0x20 }
            bytes.withUnsafeBufferPointer { buffer in
                var lines = JSONLines()
                for offset in Array(0...length).shuffled(using: &random).prefix(600) {
                    let before = bytes.prefix(offset).split(
                        separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
                    let position = lines.position(of: offset, in: buffer)
                    #expect(position == (before.count, (before.last?.count ?? 0) + 1))
                }
            }
        }
    }

    @Test("of members with the same key, the first one counts, with any key strategy and in any kind of value")
    func duplicates() throws {
        var snake = FastJSONDecoder()
        snake.keyDecodingStrategy = .convertFromSnakeCase
        for decoder in [FastJSONDecoder(), snake] {
            let data = Data(#"{"a":1,"a":2,"é":3,"e\u0301":4}"#.utf8)
            #expect(try decoder.decode([String: Int].self, from: data) == ["a": 1, "é": 3])
            #expect(try decoder.decode(JSONValue.self, from: data) == ["a": 1, "é": 3])
        }
    }

    @Test("the path of an error leads to the value, through every kind of container")
    func path() throws {
        struct Inner: Decodable { var values: [String: [[Double]]] }
        struct Outer: Decodable { var inner: [Inner?] }
        let data = Data(#"{"inner": [null, {"values": {"k": [[1], [2, "x"]]}}]}"#.utf8)
        let error = #expect(throws: DecodingError.self) { try FastJSONDecoder().decode(Outer.self, from: data) }
        guard case .typeMismatch(let type, let context) = error else { throw try #require(error) }
        #expect("\(type)" == "Double")
        #expect(
            context.codingPath.map { Outcome.text($0) }
                == ["inner/-", "Index 1/1", "values/-", "k/-", "Index 1/1", "Index 1/1"])
    }

    @Test("the tape takes eight bytes for each value and key, and no more for the document")
    func tape() throws {
        for (document, entries) in [
            ("[\(String(repeating: "1,", count: 9999))1]", 10_001), (#"{"a": {"b": [], "c": "text"}}"#, 7), ("7", 1),
        ] {
            try Array(document.utf8).withUnsafeBufferPointer { bytes in
                let parsed = try JSONParser(bytes)
                defer { parsed.tape.deallocate() }
                #expect(parsed.count == entries)
                #expect(parsed.count * 8 <= bytes.count * 4 + 4)
            }
        }
    }

    @Test("an object with many members, duplicate ones or long keys is read in time proportional to its size")
    func manyMembers() throws {
        let members = (0..<20_000).map { #""key \#($0 / 2) \#(String(repeating: "x", count: 40))": \#($0)"# }
        let data = Data("{\(members.joined(separator: ","))}".utf8)
        let values = try FastJSONDecoder().decode([String: Int].self, from: data)
        #expect(values.count == 10_000 && values.values.allSatisfy { $0 % 2 == 0 })
    }
}
