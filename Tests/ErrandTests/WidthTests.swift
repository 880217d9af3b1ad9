import ErrandTestSupport
import Foundation
import Testing

@Suite("The width of the test runner") struct WidthTests {
    private static let running = Noted(0)

    /// Without a limit the runner starts all of these together, and most of them meet.
    @Test("no more tests run at once than the width allows", arguments: 0..<200)
    func width(_ index: Int) async throws {
        let setting = ProcessInfo.processInfo.environment["SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH"]
        let width = try #require(setting.flatMap(Int.init))
        Self.running.update { $0 += 1 }
        defer { Self.running.update { $0 -= 1 } }
        for _ in 0..<20 {
            #expect(Self.running.value <= width)
            await Task.yield()
        }
    }
}
