// Declarations without a behavior: see Tests/ServerStubs/README.md.
// swift-format-ignore-file

import Logging

public protocol Service: Sendable {
    func run() async throws
}

public struct UnixSignal: Sendable {
    public static let sigterm = Self()
}

public actor ServiceGroup {
    public init(
        services: [any Service], gracefulShutdownSignals: [UnixSignal] = [], cancellationSignals: [UnixSignal] = [],
        logger: Logger
    ) {}

    public func run() async throws {}
}

public func gracefulShutdown() async throws {}
