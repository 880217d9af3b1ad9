#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The error that ended the reading of a paged list, and the position to resume from.
public struct PagingError: Error, Sendable, Hashable, ServiceErrorWrapper {
    /// The error.
    public let error: ServiceError
    /// The first position in the list that was not received. With `.paging` it is what the server named as the next
    /// page; if that cannot be expressed, because the last page came from another origin, it is the last page itself.
    public let position: PagePosition

    /// Creates an error.
    public init(_ error: ServiceError, position: PagePosition) {
        self.error = error
        self.position = position
    }
}

extension PagingError: LocalizedError, CustomStringConvertible, CustomDebugStringConvertible {
    /// The sentence of the error.
    public var localizedDescription: String { error.localizedDescription }
    /// The sentence of the error.
    public var errorDescription: String? { localizedDescription }
    /// The error and the position, for developers.
    public var description: String { "\(error) at \(position)" }
    /// The same line.
    public var debugDescription: String { description }
}
