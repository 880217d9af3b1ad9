// Declarations of Apple's, without a behavior: see Tests/AppleStubs/README.md.
// swift-format-ignore-file

// https://developer.apple.com/documentation/swiftui/view
@MainActor @preconcurrency public protocol View {
    associatedtype Body: View
    @ViewBuilder @MainActor @preconcurrency var body: Self.Body { get }
}

extension Never: View {
    public var body: Never { self }
}

// https://developer.apple.com/documentation/swiftui/viewbuilder
@resultBuilder public struct ViewBuilder {
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
    public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
}

extension Optional: View where Wrapped: View {
    public var body: Never { Never.none }
}

extension Never {
    fileprivate static var none: Never { while true {} }
}

// https://developer.apple.com/documentation/swiftui/state
@propertyWrapper public struct State<Value> {
    private let value: Value
    public init(initialValue value: Value) { self.value = value }
    public init(wrappedValue value: Value) { self.value = value }
    public var wrappedValue: Value {
        get { value }
        nonmutating set {}
    }
}

extension State: Sendable where Value: Sendable {}

// https://developer.apple.com/documentation/swiftui/text
public struct Text: View, Sendable {
    public init<Content: StringProtocol>(_ content: Content) {}
    public var body: Never { Never.none }
}

// https://developer.apple.com/documentation/swiftui/list
public struct List<Content: View>: View {
    public init<Data: RandomAccessCollection>(
        _ data: Data, @ViewBuilder rowContent: @escaping (Data.Element) -> Content
    ) where Data.Element: Identifiable {}
    public var body: Never { Never.none }
}

extension View {
    // https://developer.apple.com/documentation/swiftui/view/overlay(alignment:content:)
    public func overlay<Content: View>(@ViewBuilder content: () -> Content) -> some View { self }
    // https://developer.apple.com/documentation/swiftui/view/task(name:priority:file:line:_:)
    nonisolated public func task(
        name: String? = nil, priority: TaskPriority = .userInitiated, file: String = #fileID, line: Int = #line,
        @_inheritActorContext _ action: sending @escaping @isolated(any) () async -> Void
    ) -> some View { self }
    // https://developer.apple.com/documentation/swiftui/view/refreshable(action:)
    public func refreshable(action: @escaping @Sendable () async -> Void) -> some View { self }
}
