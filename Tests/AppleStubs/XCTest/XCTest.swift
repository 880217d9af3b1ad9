// Declarations of Apple's, without a behavior: see Tests/AppleStubs/README.md.
// swift-format-ignore-file

// https://developer.apple.com/documentation/xctest/xctfail(_:file:line:)
public func XCTFail(_ message: String = "", file: StaticString = #filePath, line: UInt = #line) {}
