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
}
