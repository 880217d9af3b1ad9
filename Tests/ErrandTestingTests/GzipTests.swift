import ErrandTestSupport
@testable import ErrandSimulation
import Foundation
import Testing

@Suite("Gzip encoding by hand", .timeLimit(.minutes(10))) struct GzipTests {
    /// Unpacks with the system's gunzip; `nil` if that refuses the data.
    private func unpacked(_ packed: Data) async throws -> Data? {
        let file = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID()).gz")
        try packed.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let (said, status) = try await Subprocess("/usr/bin/env", ["gzip", "-dc", file.path]).outcome()
        return status == 0 ? said : nil
    }

    @Test("zeros unpack to the same number of zeros", arguments: [0, 1, 258, 259, 1000, 5000, 1 << 20, 10_000_001])
    func zeros(count: Int) async throws {
        let packed = Gzip.zeros(count)
        #expect(packed.count < 300 + count / 150)
        #expect(try await unpacked(packed) == Data(count: count))
    }

    @Test("stored blocks unpack to the original bytes", arguments: [0, 1, 65_535, 65_536, 200_000])
    func stored(count: Int) async throws {
        let bytes = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 * 31) })
        #expect(try await unpacked(Gzip.stored(bytes)) == bytes)
    }
}
