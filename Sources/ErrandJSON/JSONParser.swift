/// The parser, which writes the tape of a document.
///
/// It checks the structure of the document, and finds where texts and numbers begin and end. What these contain is
/// checked when they are read, as `JSONDecoder` does it: most documents have members that no model asks for.
struct JSONParser {
    private static let deepest = 512

    /// The tape, with one more entry at its end, which is `null`. The caller frees it.
    let tape: UnsafeMutablePointer<UInt64>
    /// The number of entries of the document.
    let count: Int

    init(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONFault) {
        guard let start = bytes.baseAddress else { throw JSONFault(.unexpectedEnd) }
        guard bytes.count < UInt32.max else { throw JSONFault(.tooLarge) }
        var writer = JSONTapeWriter(documentSize: bytes.count)
        var place = start
        do throws(JSONStop) {
            try Self.parse(&place, start + bytes.count, into: &writer)
        } catch {
            writer.tape.deallocate()
            var lines = JSONLines()
            throw JSONFault(error.reason, at: lines.position(of: place - start, in: bytes))
        }
        count = writer.count
        writer.append(JSONEntry(.null))
        tape = writer.tape
    }

    /// Parses one value and the space around it; leaves `place` where it stops.
    private static func parse(
        _ place: inout UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>, into writer: inout JSONTapeWriter
    ) throws(JSONStop) {
        let start = place
        var (p, tape) = (place, writer)
        defer { (place, writer) = (p, tape) }
        // The innermost container that is open, and the number of its elements so far.
        var (depth, container, count) = (0, 0, 0)
        var closer: UInt8 = 0

        values: while true {
            let first = try JSONScan.next(&p, end)
            switch first {
            case UInt8(ascii: "\""):
                tape.append(try JSONScan.text(&p, end, from: start))
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                tape.append(try JSONScan.number(&p, end, from: start))
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard depth < deepest else { throw JSONStop(.tooDeep) }
                let index = tape.open(first == UInt8(ascii: "{") ? .object : .array, in: container, count: count)
                (depth, container, count) = (depth + 1, index, 0)
                closer = first + 2
                p += 1
                guard try JSONScan.next(&p, end) == closer else {
                    if closer == UInt8(ascii: "}") { try key(&p, end, from: start, of: container, &tape) }
                    continue values
                }
                p += 1
                depth -= 1
                (container, count, closer) = tape.close(container, count: 0)
            case UInt8(ascii: "t"):
                try JSONScan.word("true", &p, end)
                tape.append(JSONEntry(.yes))
            case UInt8(ascii: "f"):
                try JSONScan.word("false", &p, end)
                tape.append(JSONEntry(.no))
            case UInt8(ascii: "n"):
                try JSONScan.word("null", &p, end)
                tape.append(JSONEntry(.null))
            default: throw JSONStop(.unexpectedCharacter)
            }
            // A value has ended, and with it perhaps containers around it.
            while depth > 0 {
                count += 1
                var next = try JSONScan.next(&p, end)
                if next == UInt8(ascii: ",") {
                    p += 1
                    next = try JSONScan.next(&p, end)
                    // A comma before the end of a container is ignored, as by `JSONDecoder`.
                    guard next == closer else {
                        if closer == UInt8(ascii: "}") { try key(&p, end, from: start, of: container, &tape) }
                        continue values
                    }
                }
                guard next == closer else { throw JSONStop(.unexpectedCharacter) }
                guard count < JSONEntry.greatestLength else { throw JSONStop(.tooLarge) }
                p += 1
                depth -= 1
                (container, count, closer) = tape.close(container, count: count)
            }
            break
        }
        JSONScan.skipSpace(&p, end)
        guard p == end else { throw JSONStop(.unexpectedCharacter) }
    }

    /// Parses a key and the colon behind it.
    @inline(__always)
    private static func key(
        _ p: inout UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>, from start: UnsafePointer<UInt8>,
        of object: Int, _ tape: inout JSONTapeWriter
    ) throws(JSONStop) {
        guard p.pointee == UInt8(ascii: "\"") else { throw JSONStop(.unexpectedCharacter) }
        let key = try JSONScan.text(&p, end, from: start)
        if key.kind != .ascii { tape.markIrregular(object) }
        tape.append(key)
        guard try JSONScan.next(&p, end) == UInt8(ascii: ":") else { throw JSONStop(.unexpectedCharacter) }
        p += 1
    }
}
