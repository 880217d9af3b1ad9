// Names that SwiftUI, SwiftData, Alamofire or Vapor declare too.

public struct Path: Sendable {
    public init() {}
}

public struct Query: Sendable {
    public init() {}
}

public protocol Route {}

public struct Page: Sendable {
    public init() {}
}

public struct Next: Sendable {
    public init() {}
}

public struct Archive: Sendable {
    public init() {}
}
