// Declarations of Apple's, without a behavior: see Tests/AppleStubs/README.md.
// swift-format-ignore-file

public import FoundationEssentials

// https://developer.apple.com/documentation/corefoundation
// Swift bridges these types to its own. Without Objective-C there is no bridging; with these names, the casts that it
// allows compile all the same.
public typealias CFString = String
public typealias CFTypeRef = AnyObject
public typealias CFArray = [AnyObject]
public typealias CFData = Data
public typealias CFDictionary = [AnyHashable: Any]
