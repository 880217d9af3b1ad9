#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The encoding of a document, which its first bytes determine (RFC 4627, 3): they are ASCII characters.
enum JSONEncoding {
    /// Calls the closure with the document in UTF-8, without its byte order mark.
    @inline(__always)
    static func withUTF8<Value>(
        of data: Data, _ body: (UnsafeBufferPointer<UInt8>) throws -> Value
    ) throws -> Value {
        try data.withUnsafeBytes { raw in
            let bytes = raw.bindMemory(to: UInt8.self)
            let (encoding, mark) = encoding(of: bytes)
            let rest = UnsafeBufferPointer(rebasing: bytes.dropFirst(mark))
            guard let encoding else { return try body(rest) }
            guard var text = String(bytes: rest, encoding: encoding) else {
                throw JSONFault(.unreadableEncoding).decodingError
            }
            return try text.withUTF8(body)
        }
    }

    /// Returns the encoding, `nil` for UTF-8, and the length of the byte order mark.
    @inline(__always)
    private static func encoding(of bytes: UnsafeBufferPointer<UInt8>) -> (String.Encoding?, Int) {
        // Neither zeros nor bytes above 0x7F begin a document in UTF-8 without a mark.
        if bytes.count >= 2, bytes[0] != 0, bytes[0] < 0x80, bytes[1] != 0 { return (nil, 0) }
        return rareEncoding(of: bytes)
    }

    @inline(never)
    private static func rareEncoding(of bytes: UnsafeBufferPointer<UInt8>) -> (String.Encoding?, Int) {
        func at(_ index: Int) -> UInt8? { index < bytes.count ? bytes[index] : nil }
        switch (at(0), at(1), at(2), at(3)) {
        case (0, 0, 0xFE, 0xFF): return (.utf32BigEndian, 4)
        // Not FF FE 00 00: the order in which `JSONDecoder` takes it.
        case (0xFE, 0xFF, 0, 0): return (.utf32LittleEndian, 4)
        case (0xFE, 0xFF, _, _): return (.utf16BigEndian, 2)
        case (0xFF, 0xFE, _, _): return (.utf16LittleEndian, 2)
        case (0xEF, 0xBB, 0xBF, _): return (nil, 3)
        case (0, 0, 0, let last?) where last != 0: return (.utf32BigEndian, 0)
        case (0, let second?, 0, let last?) where second != 0 && last != 0: return (.utf16BigEndian, 0)
        case (let first?, 0, 0, 0) where first != 0: return (.utf32LittleEndian, 0)
        case (let first?, 0, let third?, 0) where first != 0 && third != 0: return (.utf16LittleEndian, 0)
        case (0, let second?, nil, nil) where second != 0: return (.utf16BigEndian, 0)
        case (let first?, 0, nil, nil) where first != 0: return (.utf16LittleEndian, 0)
        default: return (nil, 0)
        }
    }
}
