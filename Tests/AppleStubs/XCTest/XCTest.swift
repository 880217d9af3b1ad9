// Declarations of Apple's, without a behavior: see Tests/AppleStubs/README.md.
// swift-format-ignore-file

public import Foundation

// https://developer.apple.com/documentation/xctest/xctfail(_:file:line:)
public func XCTFail(_ message: String = "", file: StaticString = #filePath, line: UInt = #line) {}

// https://developer.apple.com/documentation/xctest/xctassertequal(_:_:_:file:line:)
public func XCTAssertEqual<T: Equatable>(
    _ expression1: @autoclosure () throws -> T, _ expression2: @autoclosure () throws -> T,
    _ message: @autoclosure () -> String = "", file: StaticString = #filePath, line: UInt = #line
) {}

// https://developer.apple.com/documentation/xctest/xctestcase
open class XCTestCase {
    public init() {}
    open func setUp() {}
    // https://developer.apple.com/documentation/xctest/xctestcase/record(_:)
    open func record(_ issue: XCTIssue) {}
}

// https://developer.apple.com/documentation/xctest/xctissue-swift.struct
public struct XCTIssue {
    public var compactDescription: String { "" }
    public var sourceCodeContext: XCTSourceCodeContext { XCTSourceCodeContext() }
}

// https://developer.apple.com/documentation/xctest/xctsourcecodecontext
open class XCTSourceCodeContext {
    public init() {}
    open var location: XCTSourceCodeLocation? { nil }
}

// https://developer.apple.com/documentation/xctest/xctsourcecodelocation
open class XCTSourceCodeLocation {
    open var fileURL: URL { URL(fileURLWithPath: "") }
    open var lineNumber: Int { 0 }
}
