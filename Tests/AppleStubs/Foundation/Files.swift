// Declarations of Apple's, without a behavior: see Tests/AppleStubs/README.md.
// swift-format-ignore-file

// https://developer.apple.com/documentation/foundation/filehandle
open class FileHandle: NSObject, @unchecked Sendable {
    open class var standardInput: FileHandle { FileHandle() }
    open class var standardOutput: FileHandle { FileHandle() }
    open class var standardError: FileHandle { FileHandle() }
    open class var nullDevice: FileHandle { FileHandle() }
    public convenience init(forWritingTo url: URL) throws { self.init() }
    public convenience init(forReadingFrom url: URL) throws { self.init() }
    open var fileDescriptor: Int32 { -1 }
    open var availableData: Data { Data() }
    open func write(_ data: Data) {}
    public func write<Bytes: DataProtocol>(contentsOf data: Bytes) throws {}
    public func readToEnd() throws -> Data? { nil }
    public func read(upToCount count: Int) throws -> Data? { nil }
    @discardableResult public func seekToEnd() throws -> UInt64 { 0 }
    public func seek(toOffset offset: UInt64) throws {}
    open func close() throws {}
}

// https://developer.apple.com/documentation/foundation/pipe
open class Pipe: NSObject, @unchecked Sendable {
    open var fileHandleForReading: FileHandle { FileHandle() }
    open var fileHandleForWriting: FileHandle { FileHandle() }
}

// https://developer.apple.com/documentation/foundation/nstemporarydirectory()
public func NSTemporaryDirectory() -> String { "" }

// https://developer.apple.com/documentation/foundation/bundle
open class Bundle: NSObject, @unchecked Sendable {
    open class var main: Bundle { Bundle() }
    open class var allBundles: [Bundle] { [] }
    open var preferredLocalizations: [String] { [] }
    open func localizedString(forKey key: String, value: String?, table tableName: String?) -> String { "" }
    open var bundlePath: String { "" }
}

// https://developer.apple.com/documentation/foundation/nsenumerator
open class NSEnumerator: NSObject, Sequence, IteratorProtocol {
    open func next() -> Any? { nil }
}

extension FileManager {
    // https://developer.apple.com/documentation/foundation/filemanager/directoryenumerator
    open class DirectoryEnumerator: NSEnumerator {}

    // https://developer.apple.com/documentation/foundation/filemanager/enumerator(atpath:)
    public func enumerator(atPath path: String) -> DirectoryEnumerator? { nil }
}
