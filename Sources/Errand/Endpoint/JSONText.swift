extension [UInt8] {
    /// Adds a JSON text of those bytes, which are UTF-8.
    mutating func append(asJSONText bytes: some Sequence<UInt8>) {
        append(UInt8(ascii: "\""))
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): self += [UInt8(ascii: "\\"), byte]
            case 0..<0x20: self += "\\u00\(Hexadecimal.encode([byte]))".utf8
            default: append(byte)
            }
        }
        append(UInt8(ascii: "\""))
    }

    /// Adds what the closure writes of each element, between brackets and with commas.
    mutating func append<Elements: Sequence>(
        asJSONListOf elements: Elements, between brackets: (UInt8, UInt8) = (UInt8(ascii: "["), UInt8(ascii: "]")),
        _ write: (Elements.Element, inout [UInt8]) throws -> Void
    ) rethrows {
        append(brackets.0)
        for (index, element) in elements.enumerated() {
            if index > 0 { append(UInt8(ascii: ",")) }
            try write(element, &self)
        }
        append(brackets.1)
    }
}
