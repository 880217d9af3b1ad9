/// The members of JSON objects in a text, found without a parser: the text may be cut off, broken, or prose with JSON
/// in it, and even JSON within a string of JSON.
enum JSONMembers {
    /// Where the values of those members stand whose names `isWanted`, in order; a value that is cut off goes on to
    /// the end of the text.
    static func values(in text: String, where isWanted: (String) -> Bool) -> [Range<String.Index>] {
        var found: [Range<String.Index>] = []
        var rest = text[...]
        // Every quotation mark may be the one that ends a name, so one too many before it does not hide the name.
        while let quote = rest.firstIndex(of: "\"") {
            let name = rest[..<quote]
            rest = rest[rest.index(after: quote)...]
            let gap = rest.prefix { $0.isWhitespace || $0 == ":" }
            guard gap.contains(":"), isWanted(String(name)) else { continue }
            let value = rest[gap.endIndex...]
            let end = end(of: value)
            found.append(value.startIndex..<end)
            rest = rest[end...]
        }
        return found
    }

    /// Where the value at the start of the text ends.
    private static func end(of value: Substring) -> Substring.Index {
        switch value.first {
        case "\"": return endOfString(value)
        case "{", "[": return endOfContainer(value)
        case "\\":
            // JSON within a string of JSON: its quotation marks are escaped.
            let mark = value.prefix { $0 == "\\" } + "\""
            guard value.hasPrefix(mark) else { return endOfWord(value) }
            return value.dropFirst(mark.count).firstRange(of: mark)?.upperBound ?? value.endIndex
        default: return endOfWord(value)
        }
    }

    private static func endOfWord(_ value: Substring) -> Substring.Index {
        value.firstIndex { ",}]".contains($0) } ?? value.endIndex
    }

    private static func endOfString(_ value: Substring) -> Substring.Index {
        var isEscaped = false
        for index in value.indices.dropFirst() {
            if isEscaped {
                isEscaped = false
            } else if value[index] == "\\" {
                isEscaped = true
            } else if value[index] == "\"" {
                return value.index(after: index)
            }
        }
        return value.endIndex
    }

    private static func endOfContainer(_ value: Substring) -> Substring.Index {
        var depth = 0
        var index = value.startIndex
        while index < value.endIndex {
            switch value[index] {
            case "\"":
                index = endOfString(value[index...])
                continue
            case "{", "[": depth += 1
            case "}", "]": depth -= 1
            default: break
            }
            index = value.index(after: index)
            if depth == 0 { return index }
        }
        return value.endIndex
    }
}
