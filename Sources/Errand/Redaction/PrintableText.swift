extension String {
    /// The text as one line that is safe to show in a terminal, a log or a label: a line break or a tab becomes a
    /// space, and other control characters, as well as those that change the direction of the text, are escaped.
    var printable: String {
        // Nearly every text is ASCII without control characters.
        guard !utf8.all({ $0 >= 0x20 && $0 < 0x7F }) else { return self }
        var shown = ""
        shown.unicodeScalars.reserveCapacity(utf8.count)
        var last: Unicode.Scalar?
        for scalar in unicodeScalars {
            if scalar.isLineBreak || scalar == "\t" {
                if scalar != "\n" || last != "\r" { shown.unicodeScalars.append(" ") }
            } else if scalar.isControl {
                shown += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            } else {
                shown.unicodeScalars.append(scalar)
            }
            last = scalar
        }
        return shown
    }
}

extension Unicode.Scalar {
    fileprivate var isLineBreak: Bool {
        switch value {
        case 0x0A...0x0D, 0x85, 0x2028, 0x2029: true
        default: false
        }
    }

    /// C0, DEL and C1; the marks, embeddings, overrides and isolates of bidirectional text; the byte order mark,
    /// annotations and tags, which are invisible.
    fileprivate var isControl: Bool {
        switch value {
        case 0..<0x20, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069, 0xFEFF, 0xFFF9...0xFFFB,
            0xE0000...0xE007F:
            true
        default: false
        }
    }
}
