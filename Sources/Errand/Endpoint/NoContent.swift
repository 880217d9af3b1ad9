#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The response of a call that answers nothing. Whatever body comes with the success is ignored.
public struct NoContent: Decodable, Sendable, Hashable {
    /// Makes it.
    public init() {}

    /// Reads nothing.
    public init(from decoder: any Decoder) throws {}
}

/// A response type that an empty body stands for.
protocol EmptyRepresentable {
    static var whenEmpty: Self { get }
}

extension NoContent: EmptyRepresentable {
    static var whenEmpty: NoContent { NoContent() }
}

extension Optional: EmptyRepresentable {
    static var whenEmpty: Wrapped? { nil }
}
