// Declarations without a behavior: see Tests/ServerStubs/README.md.
// swift-format-ignore-file

public protocol AsyncResponseEncodable {}

public protocol Content: Codable, AsyncResponseEncodable, Sendable {}

public struct HTTPResponseStatus: Sendable {
    public static let notFound = Self()
    public static let badGateway = Self()
    public static let serviceUnavailable = Self()
}

public struct Abort: Error {
    public init(_ status: HTTPResponseStatus) {}
}

public struct PathComponent: ExpressibleByStringInterpolation, Sendable {
    public init(stringLiteral value: String) {}
}

public struct Parameters: Sendable {
    public func require<T: LosslessStringConvertible>(_ name: String, as type: T.Type = T.self) throws -> T {
        throw Abort(.notFound)
    }
}

public final class Request: Sendable {
    public let parameters = Parameters()
}

public final class Application: Sendable {
    public func get<Response: AsyncResponseEncodable>(
        _ path: PathComponent..., use closure: @Sendable @escaping (Request) async throws -> Response
    ) {}

    public func execute() async throws {}
    public func asyncShutdown() async throws {}
}
