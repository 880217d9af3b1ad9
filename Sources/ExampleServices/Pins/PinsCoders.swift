#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// This server formats dates as `2026-11-21T10:00:00Z`.
extension JSONDecoder {
    static var pins: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return decoder
    }
}

extension JSONEncoder {
    static var pins: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        return encoder
    }
}
