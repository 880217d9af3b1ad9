// Declarations without a behavior: see Tests/ServerStubs/README.md.
// swift-format-ignore-file

public protocol Service: Sendable {
    func run() async throws
}

public func gracefulShutdown() async throws {}
