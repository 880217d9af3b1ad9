#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// Base64 with the alphabet for URLs and without padding (RFC 4648, 5), as OAuth and JSON Web Tokens use it.
package enum Base64URL {
    /// Returns the bytes as text.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let text = Data(bytes).base64EncodedString().utf8.prefix { $0 != UInt8(ascii: "=") }
        let bytes = text.map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: byte
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the bytes of the text; `nil` if it has padding, or a character of no such text.
    package static func decode(_ text: some StringProtocol) -> Data? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 2)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "-"): bytes.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): bytes.append(UInt8(ascii: "/"))
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"):
                bytes.append(byte)
            default: return nil
            }
        }
        bytes += Array(repeating: UInt8(ascii: "="), count: (4 - bytes.count % 4) % 4)
        return Data(base64Encoded: Data(bytes))
    }
}
