#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What ended a list that was read page by page, and where reading can go on.
public struct PagingError: Error, Sendable, Hashable, ServiceErrorWrapper {
    /// What went wrong.
    public let error: ServiceError
    /// The first place in the list that has not been had. With `.paging` it is what the server named as the next page;
    /// where that cannot be named, because the page before came from elsewhere, it is that page.
    public let position: PagePosition

    /// Makes one.
    public init(_ error: ServiceError, position: PagePosition) {
        self.error = error
        self.position = position
    }
}

extension PagingError: LocalizedError, CustomStringConvertible, CustomDebugStringConvertible {
    /// The sentence of the error.
    public var errorDescription: String? { error.errorDescription }
    /// The sentence of the error.
    public var description: String { error.description }
    /// The error and the position, for a developer.
    public var debugDescription: String { "\(error.debugDescription) at \(position)" }
}
