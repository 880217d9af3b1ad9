// Declarations without a behavior: see Tests/ServerStubs/README.md.
// swift-format-ignore-file

public struct ServiceContext: Sendable {
    @TaskLocal public static var current: ServiceContext?

    public static var topLevel: ServiceContext { ServiceContext() }
}

public enum SpanKind: Sendable {
    case server, client, producer, consumer, `internal`
}

public protocol SpanAttributeConvertible {}

extension String: SpanAttributeConvertible {}

extension Int: SpanAttributeConvertible {}

public struct SpanAttributes: Sendable {
    public subscript(_ name: String) -> SpanAttributeConvertible? {
        get { nil }
        set {}
    }
}

public protocol Span: Sendable {
    var context: ServiceContext { get }
    var attributes: SpanAttributes { get nonmutating set }
}

private struct NoSpan: Span {
    let context = ServiceContext.topLevel

    var attributes: SpanAttributes {
        get { SpanAttributes() }
        nonmutating set {}
    }
}

public func withSpan<T>(
    _ operationName: String, context: @autoclosure () -> ServiceContext = .current ?? .topLevel,
    ofKind kind: SpanKind = .internal, isolation: isolated (any Actor)? = #isolation, function: String = #function,
    file fileID: String = #fileID, line: UInt = #line, _ operation: (any Span) async throws -> T
) async rethrows -> T {
    try await operation(NoSpan())
}

public protocol Injector: Sendable {
    associatedtype Carrier: Sendable

    func inject(_ value: String, forKey key: String, into carrier: inout Carrier)
}

public protocol Instrument: Sendable {
    func inject<Carrier, Inject>(_ context: ServiceContext, into carrier: inout Carrier, using injector: Inject)
    where Inject: Injector, Carrier == Inject.Carrier
}

private struct NoInstrument: Instrument {
    func inject<Carrier, Inject>(_ context: ServiceContext, into carrier: inout Carrier, using injector: Inject)
    where Inject: Injector, Carrier == Inject.Carrier {}
}

public enum InstrumentationSystem {
    public static var instrument: any Instrument { NoInstrument() }
}
