// Names that SwiftUI, SwiftData, Alamofire or Vapor declare too.

package struct Path: Sendable {
    package init() {}
}

package struct Query: Sendable {
    package init() {}
}

package protocol Route {}

package struct Page: Sendable {
    package init() {}
}

package struct Next: Sendable {
    package init() {}
}

package struct Archive: Sendable {
    package init() {}
}
