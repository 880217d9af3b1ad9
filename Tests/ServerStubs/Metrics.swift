// Declarations without a behavior: see Tests/ServerStubs/README.md.
// swift-format-ignore-file

public class Recorder: @unchecked Sendable {
    public init(label: String, dimensions: [(String, String)] = [], aggregate: Bool = true) {}

    public func record<DataType: BinaryInteger>(_ value: DataType) {}

    public func record<DataType: BinaryFloatingPoint>(_ value: DataType) {}
}

public final class Gauge: Recorder, @unchecked Sendable {
    public convenience init(label: String, dimensions: [(String, String)] = []) {
        self.init(label: label, dimensions: dimensions, aggregate: false)
    }
}
