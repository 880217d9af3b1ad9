#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A body that is made from values by the client's encoder, and has a content type of its own.
struct DerivedBody: Sendable {
    /// What it is, without its content.
    let name: String
    let contentType: String
    let encode: @Sendable (any RequestEncoder) throws -> Data
}

extension RequestBody {
    init(_ name: String, as contentType: String, encode: @escaping @Sendable (any RequestEncoder) throws -> Data) {
        self.init(content: .derived(DerivedBody(name: name, contentType: contentType, encode: encode)))
    }
}
