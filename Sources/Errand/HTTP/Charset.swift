#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// An encoding of text, by the labels that the WHATWG Encoding Standard gives it.
enum Charset: Equatable {
    case utf8
    case utf16LittleEndian
    case utf16BigEndian
    /// Also what is labeled ISO-8859-1 or ASCII, as in browsers: the bytes from 0x80 to 0x9F are quotes and dashes far
    /// more often than control characters.
    case windows1252
    case latin9

    /// Creates the encoding with that label; `nil` if it is none of these.
    init?(label: String) {
        switch label.lowercased() {
        case "unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "utf-8", "utf8", "x-unicode20utf8": self = .utf8
        case "csunicode", "iso-10646-ucs-2", "ucs-2", "unicode", "unicodefeff", "utf-16", "utf-16le":
            self = .utf16LittleEndian
        case "unicodefffe", "utf-16be": self = .utf16BigEndian
        case "ansi_x3.4-1968", "ascii", "cp1252", "cp819", "csisolatin1", "ibm819", "iso-8859-1", "iso-ir-100",
            "iso8859-1", "iso88591", "iso_8859-1", "iso_8859-1:1987", "l1", "latin1", "us-ascii", "windows-1252",
            "x-cp1252":
            self = .windows1252
        case "csisolatin9", "iso-8859-15", "iso8859-15", "iso885915", "iso_8859-15", "l9": self = .latin9
        default: return nil
        }
    }

    /// Returns the text in the bytes, without its byte order mark, which counts more than the encoding; `nil` if it is
    /// malformed.
    func text(in bytes: Data) -> String? {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return Self.utf8.textWithoutMark(in: bytes.dropFirst(3)) }
        if bytes.starts(with: [0xFE, 0xFF]) { return Self.utf16BigEndian.textWithoutMark(in: bytes.dropFirst(2)) }
        if bytes.starts(with: [0xFF, 0xFE]) { return Self.utf16LittleEndian.textWithoutMark(in: bytes.dropFirst(2)) }
        return textWithoutMark(in: bytes)
    }

    private func textWithoutMark(in bytes: Data) -> String? {
        switch self {
        case .utf8: String(validating: bytes, as: UTF8.self)
        case .utf16LittleEndian: Self.utf16(bytes) { UInt16($1) << 8 | UInt16($0) }
        case .utf16BigEndian: Self.utf16(bytes) { UInt16($0) << 8 | UInt16($1) }
        case .windows1252: String(decoding: bytes.map(Self.windows1252Scalar), as: UTF16.self)
        case .latin9: String(decoding: bytes.map(Self.latin9Scalar), as: UTF16.self)
        }
    }

    private static func utf16(_ bytes: Data, _ unit: (UInt8, UInt8) -> UInt16) -> String? {
        guard bytes.count.isMultiple(of: 2) else { return nil }
        let units = stride(from: bytes.startIndex, to: bytes.endIndex, by: 2).map { unit(bytes[$0], bytes[$0 + 1]) }
        return String(validating: units, as: UTF16.self)
    }

    private static func windows1252Scalar(_ byte: UInt8) -> UInt16 {
        0x80..<0xA0 ~= byte ? upperControls[Int(byte) - 0x80] : UInt16(byte)
    }

    /// The characters of Windows-1252 from 0x80 to 0x9F; the five that it does not define are control characters.
    private static let upperControls: [UInt16] = [
        0x20AC, 0x81, 0x201A, 0x192, 0x201E, 0x2026, 0x2020, 0x2021, 0x2C6, 0x2030, 0x160, 0x2039, 0x152, 0x8D, 0x17D,
        0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x2DC, 0x2122, 0x161, 0x203A, 0x153, 0x9D,
        0x17E, 0x178,
    ]

    private static func latin9Scalar(_ byte: UInt8) -> UInt16 {
        switch byte {
        case 0xA4: 0x20AC
        case 0xA6: 0x160
        case 0xA8: 0x161
        case 0xB4: 0x17D
        case 0xB8: 0x17E
        case 0xBC: 0x152
        case 0xBD: 0x153
        case 0xBE: 0x178
        default: UInt16(byte)
        }
    }
}
