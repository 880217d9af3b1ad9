// Declarations without a behavior: see Tests/ServerStubs/README.md.
// swift-format-ignore-file

import ServiceLifecycle

public protocol ResponseGenerator {}

public protocol ResponseEncodable: Encodable, ResponseGenerator {}

public struct HTTPError: Error {
    public struct Status: Sendable {
        public static let notFound = Self()
        public static let badGateway = Self()
        public static let serviceUnavailable = Self()
    }

    public init(_ status: Status) {}
}

public struct RouterPath: ExpressibleByStringLiteral, Sendable {
    public init(stringLiteral value: String) {}
}

public struct Parameters: Sendable {
    public func require<T: LosslessStringConvertible>(_ name: String, as type: T.Type) throws -> T {
        throw HTTPError(.notFound)
    }
}

public struct Request: Sendable {}

public struct BasicRequestContext: Sendable {
    public let parameters = Parameters()
}

public final class Router {
    public init() {}

    @discardableResult
    public func get<Output: ResponseGenerator>(
        _ path: RouterPath, use handler: @Sendable @escaping (Request, BasicRequestContext) async throws -> Output
    ) -> Self { self }
}

public struct Application: Service {
    public init(router: Router) {}

    public func run() async throws {}
}
