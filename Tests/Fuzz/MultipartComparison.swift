import FoundationEssentials

/// Writes a form from arbitrary bytes, and reads it back with a reader that shares nothing with the writer.
enum MultipartComparison {
    private struct Part: Equatable {
        var name: [UInt8]
        var filename: [UInt8]?
        var content: [UInt8]
    }

    /// Returns whether the form that was read is the one that was written. Zero bytes separate the texts of the form.
    static func holds(for input: Data) -> Bool {
        let texts = input.split(separator: 0, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        var (form, expected) = (MultipartForm(), [Part]())
        for (index, name) in texts.enumerated() where index % 3 == 0 {
            let rest = texts[(index + 1)...].prefix(2).map { $0 }
            let content = rest.last ?? ""
            if rest.count < 2 {
                form.add(name, content)
                expected.append(Part(name: escaped(name, isName: true), content: Array(content.utf8)))
            } else {
                form.add(name, data: Data(content.utf8), filename: rest[0])
                expected.append(
                    Part(
                        name: escaped(name, isName: true), filename: escaped(rest[0], isName: false),
                        content: Array(content.utf8)))
            }
        }
        var encoding = MultipartEncoding(encoder: JSONEncoder(), files: BodyFiles(lookingAt: []), time: .system)
        guard let body = try? encoding.body(of: form).bytes,
            let boundary = encoding.contentType.split(separator: "boundary=").last
        else { return false }
        return read(Array(body), Array("\r\n--\(boundary)".utf8)) == expected
    }

    /// Reads the parts, byte by byte; `nil` if the form is malformed.
    private static func read(_ body: [UInt8], _ boundary: [UInt8]) -> [Part]? {
        var (bytes, parts) = (([13, 10] + body)[...], [Part]())
        guard bytes.starts(with: boundary) else { return nil }
        while true {
            bytes = bytes.dropFirst(boundary.count)
            if bytes.elementsEqual([45, 45, 13, 10]) { return parts }
            guard bytes.starts(with: [13, 10]) else { return nil }
            bytes = bytes.dropFirst(2)
            var end = bytes.startIndex
            while end < bytes.endIndex, !bytes[end...].starts(with: boundary) { end += 1 }
            guard end < bytes.endIndex, let part = part(bytes[..<end]) else { return nil }
            parts.append(part)
            bytes = bytes[end...]
        }
    }

    private static func part(_ bytes: ArraySlice<UInt8>) -> Part? {
        var start = bytes.startIndex
        while start < bytes.endIndex, !bytes[start...].starts(with: [13, 10, 13, 10]) { start += 1 }
        let before = Array("Content-Disposition: form-data; name=\"".utf8)
        guard start < bytes.endIndex, bytes.starts(with: before) else { return nil }
        let head = bytes[..<start].dropFirst(before.count)
        let name = head.prefix { $0 != 34 }
        let rest = head.dropFirst(name.count + 1)
        let named = Array("; filename=\"".utf8)
        let filename = rest.starts(with: named) ? Array(rest.dropFirst(named.count).prefix { $0 != 34 }) : nil
        // No line of a part's head is anything but these two.
        let lines = bytes[..<start].split(separator: 10).count
        guard lines == (filename == nil ? 1 : 2) else { return nil }
        return Part(name: Array(name), filename: filename, content: Array(bytes[start...].dropFirst(4)))
    }

    /// What the standard makes of a name: each line break of a part's name counts as CRLF.
    private static func escaped(_ text: String, isName: Bool) -> [UInt8] {
        var (bytes, result) = (Array(text.utf8)[...], [UInt8]())
        while let byte = bytes.popFirst() {
            switch byte {
            case 13 where isName:
                if bytes.first == 10 { bytes.removeFirst() }
                result += "%0D%0A".utf8
            case 10 where isName: result += "%0D%0A".utf8
            case 13: result += "%0D".utf8
            case 10: result += "%0A".utf8
            case 34: result += "%22".utf8
            default: result.append(byte)
            }
        }
        return result
    }
}
