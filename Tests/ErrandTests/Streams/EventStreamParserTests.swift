@testable import Errand
import ErrandTestSupport
import FoundationEssentials
import Testing

@Suite("Event streams: the parser") struct EventStreamParserTests {
    private func events(_ pieces: [Data], limit: Int = 1 << 20) throws -> [ServerSentEvent] {
        var parser = EventStreamParser(limit: limit)
        var events: [ServerSentEvent] = []
        for piece in pieces {
            parser.append(piece)
            while let event = try parser.next() { events.append(event) }
        }
        return events
    }

    private static let table: [(String, [ServerSentEvent])] = [
        ("data: a\n\n", [ServerSentEvent("a")]),
        ("data:a\n\ndata:  b\n\n", [ServerSentEvent("a"), ServerSentEvent(" b")]),
        ("data: a\r\ndata: b\r\n\r\n", [ServerSentEvent("a\nb")]),
        ("data: a\rdata\rdata: c\r\r", [ServerSentEvent("a\n\nc")]),
        ("\u{FEFF}data: a\n\n", [ServerSentEvent("a")]),
        ("data: a\n\n\u{FEFF}data: b\n\n", [ServerSentEvent("a")]),
        (": comment\n:\ndata: a\n: another\n\n", [ServerSentEvent("a")]),
        ("event: add\ndata: 1\n\ndata: 2\n\n", [ServerSentEvent("1", type: "add"), ServerSentEvent("2")]),
        ("event: add\n\ndata: 2\n\n", [ServerSentEvent("2")]),
        ("event: a\nevent: b\ndata: 1\n\n", [ServerSentEvent("1", type: "b")]),
        ("id: 7\ndata: 1\n\ndata: 2\n\n", [ServerSentEvent("1", id: "7"), ServerSentEvent("2", id: "7")]),
        ("id: 7\n\ndata: 2\n\n", [ServerSentEvent("2", id: "7")]),
        ("id: 7\ndata: 1\n\nid\ndata: 2\n\n", [ServerSentEvent("1", id: "7"), ServerSentEvent("2")]),
        ("id: 7\ndata: 1\n\nid: a\0b\ndata: 2\n\n", [ServerSentEvent("1", id: "7"), ServerSentEvent("2", id: "7")]),
        ("data\n\n", [ServerSentEvent("")]),
        ("data\ndata\n\n", [ServerSentEvent("\n")]),
        ("data: a", []),
        ("data: a\n", []),
        ("\n\n\n", []),
        ("unknown: a\nDATA: b\ndata : c\n\n", []),
        ("data: ä€😀\n\n", [ServerSentEvent("ä€😀")]),
        ("data: a:b: c\n\n", [ServerSentEvent("a:b: c")]),
    ]

    @Test("E1: events are read as the HTML standard says", arguments: table)
    func standard(text: String, expected: [ServerSentEvent]) throws {
        #expect(try events([Data(text.utf8)]) == expected)
    }

    @Test("E1: the same events come, however the stream is split", arguments: table)
    func splits(text: String, expected: [ServerSentEvent]) throws {
        let bytes = Data(text.utf8)
        #expect(try events(bytes.map { Data([$0]) }) == expected)
        for index in 0...bytes.count {
            #expect(try events([bytes.prefix(index), Data(), bytes.dropFirst(index)]) == expected)
        }
    }

    @Test("E1: bytes that are not UTF-8 are replaced")
    func invalid() throws {
        #expect(try events([Data("data: a".utf8) + [0xFF] + Data("b\n\n".utf8)]) == [ServerSentEvent("a\u{FFFD}b")])
    }

    @Test(
        "E2: the pause is that of the last valid retry",
        arguments: [
            ("retry: 1500\n", Duration.milliseconds(1500)), ("retry: 15s\n", nil), ("retry: -1\n", nil),
            ("retry\n", nil),
            ("retry: 5\nretry: x\n", .milliseconds(5)), ("retry: 99999999999999999999\n", nil),
        ] as [(String, Duration?)])
    func retry(text: String, pause: Duration?) throws {
        var parser = EventStreamParser(limit: 100)
        parser.append(Data(text.utf8))
        _ = try parser.next()
        #expect(parser.pause == pause)
    }

    @Test("E2: an event that did not end is dropped, and so is its identifier")
    func restart() throws {
        var parser = EventStreamParser(limit: 100)
        parser.append(Data("id: 1\ndata: a\n\nid: 2\ndata: b\n".utf8))
        #expect(try parser.next() == ServerSentEvent("a", id: "1"))
        #expect(try parser.next() == nil)
        parser.restart()
        #expect(parser.lastID == "1")
        parser.append(Data("data: c\n\n".utf8))
        #expect(try parser.next() == ServerSentEvent("c", id: "1"))
    }

    @Test("E4: an event, or a line, that is too long is an error, however it comes")
    func limit() throws {
        let line = "data: \(String(repeating: "x", count: 40))\n"
        #expect(try events([Data((line + "\n").utf8)], limit: 60).count == 1)
        for text in [
            line + line + "\n", "data: \(String(repeating: "x", count: 70))", ":\(String(repeating: "x", count: 70))",
        ] {
            for pieces in [[Data(text.utf8)], text.utf8.map { Data([$0]) }] {
                let error = #expect(throws: ServiceError.self) { try events(pieces, limit: 60) }
                guard case .transport(let failure) = error else { throw try #require(error) }
                #expect(failure.kind == .tooLarge)
            }
        }
    }
}
