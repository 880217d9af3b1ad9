#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The response of a call without a result. The body of a successful response is ignored.
public struct NoContent: Decodable, Sendable, Hashable {
    /// Creates the value.
    public init() {}

    /// Decodes nothing.
    public init(from decoder: any Decoder) throws {}
}

/// A response type that an empty body can represent.
protocol EmptyRepresentable {
    static var whenEmpty: Self { get }
}

extension NoContent: EmptyRepresentable {
    static var whenEmpty: NoContent { NoContent() }
}

extension Optional: EmptyRepresentable {
    static var whenEmpty: Wrapped? { nil }
}
